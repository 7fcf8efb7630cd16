package github

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/bygit"
	"github.com/sluice-dev/sluice/forge/wire"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/lru"
)

const (
	defaultTimeout = 30 * time.Second
	// factsBytes limits the facts that a client keeps because they don't change, in encoded bytes.
	factsBytes = 4 << 20
)

// Options say which repository, on which server, and as whom.
type Options struct {
	// BaseURL is the root of a GitHub Enterprise Server, or of its API. Empty is github.com.
	BaseURL string
	// AllowHTTP takes plain http for a BaseURL on a loopback address, for trying things out.
	AllowHTTP bool
	// Owner and Repository name the repository.
	Owner, Repository string
	// Token or App, exactly one of them, says who we are.
	Token string
	App   *App
	// CABundle are PEM certificates that are trusted beside the system's.
	CABundle []byte
	// Networks say what is never connected to, whatever a name resolves to.
	Networks dialer.Rules
	// Transport sends the requests. Default: one that heeds the two options above and the
	// environment's proxy; a custom Transport handles that itself.
	Transport http.RoundTripper
	// Git moves branches; without it the API does.
	Git forge.Git
	// WritesPerHour is the most requests that change something, of all who share a rate limit; 0 for
	// any number.
	WritesPerHour int
	// Timeout is for one request with its answer. Default 30s.
	Timeout time.Duration
	// Now tells the time. Default: time.Now.
	Now func() time.Time
}

// Client works on one repository. It is safe for use by many goroutines at once. All that its
// methods return are a *forge.Error, a *forge.LimitedError, or the error of their context,
// wrapped in what was tried.
type Client struct {
	api         *github.Client
	owner, name string
	credentials wire.Credentials
	secrets     wire.Scrubber
	wires       []*wire.Wire
	branches    *bygit.Branches
	trusted     []byte
	timeout     time.Duration
	now         func() time.Time

	mu         sync.Mutex
	self       forge.Account
	repository forge.Repository
	// facts are facts that don't change: merged pull requests and commits.
	facts *lru.Cache[string, any]
}

var (
	ownerName      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

// New makes a Client that shares nothing with others. It sends nothing. Options that can't work are
// a *forge.Error of kind Misconfigured.
func New(opts Options) (*Client, error) {
	return NewClients(opts).Client(opts)
}

func newClient(opts Options, base *url.URL, all *Clients) (*Client, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	network := opts.Transport
	if network == nil {
		var err error
		if network, err = wire.Network(opts.Timeout, opts.CABundle, opts.Networks); err != nil {
			return nil, err
		}
	}
	c := &Client{owner: opts.Owner, name: opts.Repository, secrets: wire.Scrubber{Secret: opts.Token},
		trusted: opts.CABundle, timeout: opts.Timeout, now: opts.Now, facts: lru.New[string, any](factsBytes)}
	var err error
	if c.credentials, err = c.newCredentials(opts, all, base, network); err != nil {
		return nil, err
	}
	c.branches = c.newBranches(opts.Git)
	c.api = c.newAPI(opts, base, network, c.credentials, all.limitOf(opts.limitKey(), opts.Now))
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (o Options) validate() error {
	switch {
	case !ownerName.MatchString(o.Owner):
		return wire.Misconfigured("%q is not the name of an owner", o.Owner)
	case !repositoryName.MatchString(o.Repository) || strings.Trim(o.Repository, ".") == "":
		return wire.Misconfigured("%q is not the name of a repository", o.Repository)
	case (o.Token == "") == (o.App == nil):
		return wire.Misconfigured("give a token or an app, not both")
	}
	return nil
}

// newAPI puts a stack of transports under go-github.
func (c *Client) newAPI(opts Options, base *url.URL, network http.RoundTripper, as wire.Credentials, limit *wire.Limit) *github.Client {
	below := wire.New(wire.Options{Network: network, Credentials: as, Limit: limit, Timeout: opts.Timeout, Secrets: c.secrets})
	c.wires = append(c.wires, below)
	api := github.NewClient(below.HTTP())
	api.BaseURL = base
	api.UserAgent = wire.UserAgent
	return api
}

// Budget returns the budget as of the last answer. It sends nothing.
func (c *Client) Budget() forge.Budget { return wire.BudgetOf(c.wires) }

// apiURL returns the root of the API for what a user gives as the address of a server.
func apiURL(address string, allowHTTP bool) (*url.URL, error) {
	api, err := url.Parse(address)
	if err != nil || api.User != nil || api.RawQuery != "" || api.Fragment != "" {
		return nil, wire.Misconfigured("the base URL is not a plain server address")
	}
	switch host := strings.ToLower(api.Host); {
	case address == "", host == "github.com", host == "www.github.com", host == "api.github.com":
		return &url.URL{Scheme: "https", Host: "api.github.com", Path: "/"}, nil
	case host == "":
		return nil, wire.Misconfigured("the base URL names no server")
	case api.Scheme != "https" && (api.Scheme != "http" || !allowHTTP || !wire.IsLoopback(api.Hostname())):
		return nil, wire.Misconfigured("the base URL must begin with https://")
	}
	api.Path = strings.TrimRight(api.Path, "/") + "/"
	if !strings.HasPrefix(api.Host, "api.") && !strings.HasSuffix(api.Path, "/api/v3/") {
		api.Path += "api/v3/"
	}
	return api, nil
}
