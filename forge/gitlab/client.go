package gitlab

import (
	"cmp"
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

const (
	// factsBytes limits the facts that a client keeps because they don't change, in encoded bytes.
	factsBytes = 4 << 20
	// public is the server of sources that name none.
	public = "https://gitlab.com"
	// gitUser is the name under which Git over HTTP takes a token. Any will do.
	gitUser = "sluice"
)

// Clients holds the clients of one process: the same for who asks for the same.
type Clients struct {
	common  wire.Common
	servers *wire.Servers
	clients wire.Shared[key, Client]
}

// key names a client.
type key struct {
	access  wire.Access
	project string
}

// NewClients returns Clients that have made none.
func NewClients(c wire.Common) *Clients {
	return &Clients{common: c.WithDefaults(), servers: wire.NewServers(c), clients: wire.NewShared[key, Client]()}
}

// Client works on one project. It is safe for use by many goroutines at once.
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
	facts       *wire.Facts

	mu   sync.Mutex
	self forge.Account
	// address is our own.
	address string
	project project
}

// What names can be. A group may be in another, and so on.
var (
	pathName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$`)
	groupPath = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$`)
)

// maxPath limits the path of a group, in characters.
const maxPath = 255

// Client returns the client of a project. It sends nothing. Options that can't work are a
// *forge.Error of kind Misconfigured.
func (c *Clients) Client(a forge.Access) (*Client, error) {
	server, err := wire.ServerURL(cmp.Or(a.BaseURL, public), public, c.common.AllowHTTP)
	token := strings.TrimSpace(string(a.Secret["token"]))
	switch {
	case err != nil:
		return nil, err
	case !isGroup(a.Owner):
		return nil, wire.Misconfigured("%q is not the path of a group or user, such as shop/web", a.Owner)
	case !pathName.MatchString(a.Repository):
		return nil, wire.Misconfigured("%q is not the path of a project", a.Repository)
	case token == "":
		return nil, wire.Misconfigured("the Secret has no token")
	}
	k := key{wire.AccessOf(server, token, a.Secret["ca.crt"]), strings.ToLower(a.Owner + "/" + a.Repository)}
	return c.clients.Get(k, func() (*Client, error) { return c.connect(a, server, token) })
}

func isGroup(path string) bool { return len(path) <= maxPath && groupPath.MatchString(path) }

func (c *Clients) connect(a forge.Access, server *url.URL, token string) (*Client, error) {
	opened, err := c.servers.Open(server, token, a.Secret["ca.crt"])
	if err != nil {
		return nil, err
	}
	base, err := server.JoinPath("api/v4/projects/").Parse(at("%s/", a.Owner+"/"+a.Repository))
	if err != nil {
		return nil, wire.Misconfigured("%s/%s is not a path: %v", a.Owner, a.Repository, err)
	}
	made := &Client{
		owner: a.Owner, name: a.Repository, server: server, token: token, trusted: a.Secret["ca.crt"],
		timeout: c.common.Timeout, now: c.common.Now, facts: lru.New[string, any](factsBytes),
		api: &wire.API{Base: base, Wire: opened, Secrets: wire.Scrubber{Secret: token}, Total: "X-Total", PerPage: "per_page"},
	}
	made.branches = bygit.New(bygit.Options{Git: c.common.Git, Now: c.common.Now, Remote: made.remote, Author: made.author})
	made.Proposals = proposals.Proposals{Forge: edits{made}, Branches: made.branches}
	return made, nil
}

// at escapes the parts of a path below that of the project, slashes included.
func at(format string, parts ...any) string {
	escaped := make([]any, len(parts))
	for i, part := range parts {
		escaped[i] = url.PathEscape(fmt.Sprint(part))
	}
	return fmt.Sprintf(format, escaped...)
}

// root returns a path below that of the API.
func root(format string, parts ...any) string { return "../../" + at(format, parts...) }

// remote returns the project as Git reaches it. The credentials go nowhere but to the server whose
// API we use.
func (c *Client) remote(context.Context) (forge.Remote, error) {
	return forge.Remote{
		URL: c.server.JoinPath(c.owner, c.name+".git").String(), User: gitUser, Password: c.token, CABundle: c.trusted, Timeout: c.timeout,
	}, nil
}

// Budget returns the rest of the rate limit as of the last answer. It sends nothing.
func (c *Client) Budget() forge.Budget { return wire.BudgetOf([]*wire.Wire{c.api.Wire}) }
