package github

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
	"weak"
)

// Clients holds the clients of one process. Equal repository, credentials and rights give the same
// client, with its tokens and its cache. Clients of one installation of an app, or of one token,
// share the state of their rate limit, as the forge counts their requests together. Clients drops
// a client that is no longer in use.
//
// Sharing depends on the private key or token itself, so that a wrong one disturbs no other client.
type Clients struct {
	common  Options
	clients shared[clientKey, Client]
	limits  shared[limitKey, limit]
}

// NewClients makes clients that have AllowHTTP, Networks, Transport, Git, WritesPerHour, Timeout
// and Now in common.
func NewClients(common Options) *Clients {
	common = common.withDefaults()
	return &Clients{common: common, clients: newShared[clientKey, Client](), limits: newShared[limitKey, limit]()}
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
	return c.clients.get(opts.key(), func() (*Client, error) { return newClient(opts, base, c) })
}

// limitOf returns the limit of requests with certain credentials to a server.
func (c *Clients) limitOf(key limitKey, now func() time.Time) *limit {
	l, _ := c.limits.get(key, func() (*limit, error) { return &limit{now: now, writes: writes{perHour: c.common.WritesPerHour}}, nil })
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

// shared has one value for each key, for as long as somebody uses it.
type shared[K comparable, V any] struct {
	mu  *sync.Mutex
	all map[K]weak.Pointer[V]
}

func newShared[K comparable, V any]() shared[K, V] {
	return shared[K, V]{mu: new(sync.Mutex), all: map[K]weak.Pointer[V]{}}
}

// get returns the value of a key, or makes it. It does not wait while another caller makes a value.
func (s shared[K, V]) get(key K, make func() (*V, error)) (*V, error) {
	if known := s.known(key); known != nil {
		return known, nil
	}
	made, err := make()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[key].Value(); known != nil { // made meanwhile
		return known, nil
	}
	s.all[key] = weak.Make(made)
	runtime.AddCleanup(made, s.forget, key)
	return made, nil
}

func (s shared[K, V]) known(key K) *V {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[key].Value()
}

// forget drops a key that nobody uses any more, unless somebody does again.
func (s shared[K, V]) forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[key].Value() == nil {
		delete(s.all, key)
	}
}
