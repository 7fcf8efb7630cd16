package github

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/forge/wire"
)

// Clients holds the clients of one process. Equal repository, credentials and rights give the same
// client, with its tokens and its cache. Clients of one installation of an app, or of one token,
// share the state of their rate limit, as the forge counts their requests together. Clients drops
// a client that is no longer in use.
//
// Sharing depends on the private key or token itself, so that a wrong one disturbs no other client.
type Clients struct {
	common  Options
	clients wire.Shared[clientKey, Client]
	limits  wire.Shared[limitKey, wire.Limit]
}

// NewClients makes clients that have AllowHTTP, Networks, Transport, Git, WritesPerHour, Timeout
// and Now in common.
func NewClients(common Options) *Clients {
	common = common.withDefaults()
	return &Clients{common: common, clients: wire.NewShared[clientKey, Client](), limits: wire.NewShared[limitKey, wire.Limit]()}
}

// Client returns the client for these options, except those that all have in common. It sends
// nothing. Options that can't work are a *forge.Error of kind Misconfigured.
func (c *Clients) Client(opts Options) (*Client, error) {
	opts.AllowHTTP, opts.Networks, opts.Transport = c.common.AllowHTTP, c.common.Networks, c.common.Transport
	opts.Timeout, opts.Now, opts.Git = c.common.Timeout, c.common.Now, c.common.Git
	base, err := apiURL(opts.BaseURL, opts.AllowHTTP)
	if err != nil {
		return nil, err
	}
	opts.BaseURL = base.String()
	return c.clients.Get(opts.key(), func() (*Client, error) { return newClient(opts, base, c) })
}

// limitOf returns the limit of requests with certain credentials to a server.
func (c *Clients) limitOf(key limitKey, now func() time.Time) *wire.Limit {
	l, _ := c.limits.Get(key, func() (*wire.Limit, error) { return wire.NewLimit(now, c.common.WritesPerHour), nil })
	return l
}

// limitKey is whose requests a forge counts together.
type limitKey struct {
	server string
	// secret is the digest of what proves who we are, and trusted that of whom we believe to be the
	// server.
	secret, trusted [sha256.Size]byte
	app             int64
	// owner has the installation; empty for a token, and for the app itself.
	owner string
}

// clientKey identifies a client.
type clientKey struct {
	limit        limitKey
	repository   string
	installation int64
	rights       string
}

func (o Options) key() clientKey {
	key := clientKey{limit: o.limitKey(), repository: strings.ToLower(o.Owner + "/" + o.Repository)}
	if o.App != nil {
		key.installation, key.rights = o.App.InstallationID, fmt.Sprint(o.App.Teams, o.App.Deployments, o.App.GitOnly)
	}
	return key
}

// limitKey returns that of requests about the repository.
func (o Options) limitKey() limitKey {
	key := limitKey{server: o.BaseURL, secret: sha256.Sum256([]byte(o.Token)), trusted: sha256.Sum256(o.CABundle)}
	if o.App != nil {
		key.app, key.owner, key.secret = o.App.ID, strings.ToLower(o.Owner), sha256.Sum256(o.App.PrivateKey)
	}
	return key
}
