package wire

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/dialer"
)

// Common holds the options that all clients of a process share.
type Common struct {
	// AllowHTTP takes plain http for a server on a loopback address, for trying things out.
	AllowHTTP bool
	// Networks say what is never connected to, whatever a name resolves to.
	Networks dialer.Rules
	// Transport sends the requests. Default: one that heeds Networks and the environment's proxy.
	Transport http.RoundTripper
	// Git moves branches.
	Git forge.Git
	// WritesPerHour is the most requests that change something, of all who share a rate limit; 0 for
	// any number.
	WritesPerHour int
	// Timeout limits one request with its answer. Default 30s.
	Timeout time.Duration
	// Now tells the time. Default: time.Now.
	Now func() time.Time
}

// WithDefaults fills in what is left out.
func (c Common) WithDefaults() Common {
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Servers opens Wires to the servers of one type of forge, with one limit for all requests of one
// token.
type Servers struct {
	common Common
	limits Shared[Access, Limit]
}

// Access tells who uses a server. It holds no secret.
type Access struct {
	server         string
	token, trusted [sha256.Size]byte
}

// AccessOf returns how a token uses a server, with certificates to trust beside the system's.
func AccessOf(server *url.URL, token string, trusted []byte) Access {
	return Access{server: server.String(), token: sha256.Sum256([]byte(token)), trusted: sha256.Sum256(trusted)}
}

// NewServers returns Servers that have opened none.
func NewServers(c Common) *Servers {
	return &Servers{common: c.WithDefaults(), limits: NewShared[Access, Limit]()}
}

// Open returns a Wire to a server. It sends nothing.
func (s *Servers) Open(server *url.URL, token string, trusted []byte) (*Wire, error) {
	network := s.common.Transport
	if network == nil {
		var err error
		if network, err = Network(s.common.Timeout, trusted, s.common.Networks); err != nil {
			return nil, err
		}
	}
	limit, err := s.limits.Get(AccessOf(server, token, trusted), func() (*Limit, error) {
		return NewLimit(s.common.Now, s.common.WritesPerHour), nil
	})
	if err != nil {
		return nil, err
	}
	return New(Options{
		Network: network, Credentials: Token(token), Limit: limit, Timeout: s.common.Timeout, Secrets: Scrubber{Secret: token},
	}), nil
}

// ServerURL returns the root of a server. An example is for people who have left it out.
func ServerURL(address, example string, allowHTTP bool) (*url.URL, error) {
	server, err := url.Parse(address)
	switch {
	case err != nil || server.User != nil || server.RawQuery != "" || server.Fragment != "":
		return nil, Misconfigured("the base URL is not a plain server address")
	case server.Host == "":
		return nil, Misconfigured("the base URL is missing: it is the address of the server, such as %s", example)
	case server.Scheme != "https" && (server.Scheme != "http" || !allowHTTP || !IsLoopback(server.Hostname())):
		return nil, Misconfigured("the base URL must begin with https://")
	}
	return server, nil
}
