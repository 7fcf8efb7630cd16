package gitea

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/bygit"
	"github.com/sluice-dev/sluice/forge/wire"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/lru"
)

// factsBytes limits the facts that a client keeps because they don't change, in encoded bytes.
const factsBytes = 4 << 20

// Common holds the options of all clients of a process.
type Common struct {
	AllowHTTP     bool
	Networks      dialer.Rules
	Transport     http.RoundTripper
	Git           forge.Git
	WritesPerHour int
	Timeout       time.Duration
	Now           func() time.Time
}

// Clients holds the clients of one process: the same for who asks for the same, and with one limit
// for all requests of one token.
type Clients struct {
	common  Common
	clients wire.Shared[key, Client]
	limits  wire.Shared[key, wire.Limit]
}

// key is that of a client; without repository that of a limit.
type key struct {
	server, repository string
	secret, trusted    [sha256.Size]byte
}

// NewClients returns Clients that have made none.
func NewClients(c Common) *Clients {
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Clients{common: c, clients: wire.NewShared[key, Client](), limits: wire.NewShared[key, wire.Limit]()}
}

// Client works on one repository. It is safe for use by many goroutines at once.
type Client struct {
	api         *wire.API
	owner, name string
	server      *url.URL
	token       string
	trusted     []byte
	timeout     time.Duration
	branches    *bygit.Branches
	now         func() time.Time

	mu   sync.Mutex
	self forge.Account
	// address is our own.
	address    string
	repository repository
	// blind is set if we may not ask for the permissions of others.
	blind bool
	// facts are facts that don't change: merged pull requests and commits.
	facts *lru.Cache[string, any]
}

var (
	ownerName      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	login          = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

// Client returns the client of a repository. It sends nothing. Options that can't work are a
// *forge.Error of kind Misconfigured.
func (c *Clients) Client(a forge.Access) (*Client, error) {
	server, err := serverURL(a.BaseURL, c.common.AllowHTTP)
	token := strings.TrimSpace(string(a.Secret["token"]))
	switch {
	case err != nil:
		return nil, err
	case !ownerName.MatchString(a.Owner):
		return nil, wire.Misconfigured("%q is not the name of an owner", a.Owner)
	case !repositoryName.MatchString(a.Repository) || strings.Trim(a.Repository, ".") == "":
		return nil, wire.Misconfigured("%q is not the name of a repository", a.Repository)
	case token == "":
		return nil, wire.Misconfigured("the Secret has no token")
	}
	k := key{server: server.String(), repository: strings.ToLower(a.Owner + "/" + a.Repository),
		secret: sha256.Sum256([]byte(token)), trusted: sha256.Sum256(a.Secret["ca.crt"])}
	return c.clients.Get(k, func() (*Client, error) { return c.connect(a, server, token, k) })
}

func (c *Clients) connect(a forge.Access, server *url.URL, token string, k key) (*Client, error) {
	network := c.common.Transport
	if network == nil {
		var err error
		if network, err = wire.Network(c.common.Timeout, a.Secret["ca.crt"], c.common.Networks); err != nil {
			return nil, err
		}
	}
	k.repository = ""
	limit, err := c.limits.Get(k, func() (*wire.Limit, error) { return wire.NewLimit(c.common.Now, c.common.WritesPerHour), nil })
	if err != nil {
		return nil, err
	}
	secrets := wire.Scrubber{Secret: token}
	made := &Client{
		owner: a.Owner, name: a.Repository, server: server, token: token, trusted: a.Secret["ca.crt"],
		timeout: c.common.Timeout, now: c.common.Now, facts: lru.New[string, any](factsBytes),
		api: &wire.API{
			Base: server.JoinPath("api/v1/repos", a.Owner, a.Repository, "/"), Secrets: secrets, Total: "X-Total-Count", PerPage: "limit",
			Wire: wire.New(wire.Options{Network: network, Credentials: wire.Token(token), Limit: limit, Timeout: c.common.Timeout, Secrets: secrets}),
		},
	}
	made.branches = bygit.New(bygit.Options{Git: c.common.Git, Now: c.common.Now, Remote: made.remote, Author: made.author})
	return made, nil
}

// serverURL returns the root of a server. There is no public one that all use.
func serverURL(address string, allowHTTP bool) (*url.URL, error) {
	server, err := url.Parse(address)
	switch {
	case err != nil || server.User != nil || server.RawQuery != "" || server.Fragment != "":
		return nil, wire.Misconfigured("the base URL is not a plain server address")
	case server.Host == "":
		return nil, wire.Misconfigured("the base URL is missing: it is the address of the server, such as https://codeberg.org")
	case server.Scheme != "https" && (server.Scheme != "http" || !allowHTTP || !wire.IsLoopback(server.Hostname())):
		return nil, wire.Misconfigured("the base URL must begin with https://")
	}
	return server, nil
}

// at escapes the parts of a path below that of the repository.
func at(format string, parts ...any) string {
	escaped := make([]any, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(fmt.Sprint(part))
	}
	return fmt.Sprintf(format, escaped...)
}

// root returns a path below that of the API.
func (c *Client) root(format string, parts ...any) string { return "../../../" + at(format, parts...) }

// remote returns the repository as Git reaches it. The credentials go nowhere but to the server
// whose API we use.
func (c *Client) remote(context.Context) (forge.Remote, error) {
	return forge.Remote{
		URL: c.server.JoinPath(c.owner, c.name+".git").String(), User: gitUser, Password: c.token, CABundle: c.trusted, Timeout: c.timeout,
	}, nil
}

// gitUser is the name under which Git over HTTP takes a token. Any will do.
const gitUser = "sluice"

// Budget returns the rest of the rate limit as of the last answer. It sends nothing.
func (c *Client) Budget() forge.Budget { return wire.BudgetOf([]*wire.Wire{c.api.Wire}) }
