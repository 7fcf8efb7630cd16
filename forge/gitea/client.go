package gitea

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/bygit"
	"github.com/sluice-dev/sluice/forge/proposals"
	"github.com/sluice-dev/sluice/forge/wire"
	"github.com/sluice-dev/sluice/internal/lru"
)

// factsBytes limits the facts that a client keeps because they don't change, in encoded bytes.
const factsBytes = 4 << 20

// Clients holds the clients of one process: the same for who asks for the same.
type Clients struct {
	common  wire.Common
	servers *wire.Servers
	clients wire.Shared[key, Client]
}

// key names a client.
type key struct {
	access     wire.Access
	repository string
}

// NewClients returns Clients that have made none.
func NewClients(c wire.Common) *Clients {
	return &Clients{common: c.WithDefaults(), servers: wire.NewServers(c), clients: wire.NewShared[key, Client]()}
}

// Client works on one repository. It is safe for use by many goroutines at once.
type Client struct {
	proposals.Proposals

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
	facts *wire.Facts
}

var (
	ownerName      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	repositoryName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	login          = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
)

// Client returns the client of a repository. It sends nothing. Options that can't work are a
// *forge.Error of kind Misconfigured.
func (c *Clients) Client(a forge.Access) (*Client, error) {
	server, err := wire.ServerURL(a.BaseURL, "https://codeberg.org", c.common.AllowHTTP)
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
	k := key{wire.AccessOf(server, token, a.Secret["ca.crt"]), strings.ToLower(a.Owner + "/" + a.Repository)}
	return c.clients.Get(k, func() (*Client, error) { return c.connect(a, server, token) })
}

func (c *Clients) connect(a forge.Access, server *url.URL, token string) (*Client, error) {
	opened, err := c.servers.Open(server, token, a.Secret["ca.crt"])
	if err != nil {
		return nil, err
	}
	made := &Client{
		owner: a.Owner, name: a.Repository, server: server, token: token, trusted: a.Secret["ca.crt"],
		timeout: c.common.Timeout, now: c.common.Now, facts: lru.New[string, any](factsBytes),
		api: &wire.API{
			Base: server.JoinPath("api/v1/repos", a.Owner, a.Repository, "/"), Wire: opened,
			Secrets: wire.Scrubber{Secret: token}, Total: "X-Total-Count", PerPage: "limit",
		},
	}
	made.branches = bygit.New(bygit.Options{Git: c.common.Git, Now: c.common.Now, Remote: made.remote, Author: made.author})
	made.Proposals = proposals.Proposals{Forge: edits{made}, Branches: made.branches}
	return made, nil
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
