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
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/lru"
)

const (
	defaultTimeout = 30 * time.Second
	// cacheBytes limits the answers that a client keeps to revalidate.
	cacheBytes = 4 << 20
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
	Git Git
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
	credentials credentials
	secrets     scrubber
	limiters    []*limiter
	memories    []*answers
	git         Git
	trusted     []byte
	timeout     time.Duration
	now         func() time.Time

	mu         sync.Mutex
	self       forge.Account
	repository forge.Repository
	// gitAgain is when Git is tried again after a failure.
	gitAgain time.Time
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
	network, err := opts.network()
	if err != nil {
		return nil, err
	}
	c := &Client{owner: opts.Owner, name: opts.Repository, secrets: scrubber{secret: opts.Token},
		git: opts.Git, trusted: opts.CABundle, timeout: opts.Timeout, now: opts.Now, facts: lru.New[string, any](factsBytes)}
	if c.credentials, err = c.newCredentials(opts, all, base, network); err != nil {
		return nil, err
	}
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
		return misconfigured("%q is not the name of an owner", o.Owner)
	case !repositoryName.MatchString(o.Repository) || strings.Trim(o.Repository, ".") == "":
		return misconfigured("%q is not the name of a repository", o.Repository)
	case (o.Token == "") == (o.App == nil):
		return misconfigured("give a token or an app, not both")
	}
	return nil
}

// newAPI puts a stack of transports under go-github.
func (c *Client) newAPI(opts Options, base *url.URL, network http.RoundTripper, as credentials, limit *limit) *github.Client {
	limits := &limiter{next: &authorised{next: &bodies{next: network}, credentials: as}, limit: limit}
	memory := lru.New[string, answer](cacheBytes)
	c.limiters, c.memories = append(c.limiters, limits), append(c.memories, memory)
	transport := &deadline{
		next:    &conditional{next: limits, identity: as.identity, answers: memory},
		timeout: opts.Timeout,
		secrets: c.secrets,
	}
	api := github.NewClient(&http.Client{Transport: transport, CheckRedirect: sameOrigin})
	api.BaseURL = base
	api.UserAgent = "sluice"
	return api
}

// Budget is the rest of the rate limit that a client shares with others.
type Budget struct {
	// Limit and Remaining are requests in the present hour; both are 0 where there is no limit.
	Limit, Remaining int
	// Reset is when Remaining is Limit again.
	Reset time.Time
	// Requests that the client has sent since it was made, those answered "not modified" included.
	Requests int64
	// Unchanged counts the requests answered with "not modified". They cost nothing.
	Unchanged int64
	// LimitedUntil is when requests may be sent again; in the past if they may be now.
	LimitedUntil time.Time
}

// Budget returns the budget as of the last answer. It sends nothing.
func (c *Client) Budget() Budget {
	var sum Budget
	for _, l := range c.limiters {
		b := l.limit.snapshot()
		b.Requests = sum.Requests + l.requests.Load()
		b.Unchanged = sum.Unchanged + l.unchanged.Load()
		if sum.LimitedUntil.After(b.LimitedUntil) {
			b.LimitedUntil = sum.LimitedUntil
		}
		sum = b
	}
	return sum
}

// apiURL returns the root of the API for what a user gives as the address of a server.
func apiURL(address string, allowHTTP bool) (*url.URL, error) {
	api, err := url.Parse(address)
	if err != nil || api.User != nil || api.RawQuery != "" || api.Fragment != "" {
		return nil, misconfigured("the base URL is not a plain server address")
	}
	switch host := strings.ToLower(api.Host); {
	case address == "", host == "github.com", host == "www.github.com", host == "api.github.com":
		return &url.URL{Scheme: "https", Host: "api.github.com", Path: "/"}, nil
	case host == "":
		return nil, misconfigured("the base URL names no server")
	case api.Scheme != "https" && (api.Scheme != "http" || !allowHTTP || !isLoopback(api.Hostname())):
		return nil, misconfigured("the base URL must begin with https://")
	}
	api.Path = strings.TrimRight(api.Path, "/") + "/"
	if !strings.HasPrefix(api.Host, "api.") && !strings.HasSuffix(api.Path, "/api/v3/") {
		api.Path += "api/v3/"
	}
	return api, nil
}
