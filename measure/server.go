package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/sluice-dev/sluice/internal/dialer"
)

// Options describe a server and how it is reached.
type Options struct {
	// Address is the URL below which the API is, with http or https.
	Address string
	// CABundle holds PEM certificates that are trusted beside the system's.
	CABundle []byte
	// Header is sent with each request: credentials, a tenant.
	Header http.Header
	// Timeout bounds a query with its answer. Default 10s.
	Timeout time.Duration
	// Networks say which addresses may be connected to.
	Networks dialer.Rules
}

const (
	defaultTimeout = 10 * time.Second
	connectTimeout = 5 * time.Second
	// maxBody is the size of an answer with 10,000 series of many labels.
	maxBody = 8 << 20
	// maxCommas bounds the values of an answer: of two bytes each, they take 30 times its size.
	maxCommas = 500_000
	// maxSeries bounds what a query may select.
	maxSeries = 10_000
	// maxRead bounds the part of a server's words that is searched for credentials.
	maxRead = 64 << 10
	// maxWords is the length of a server's words in an error.
	maxWords = 300
	// maxNotes is the number of remarks that people get to read.
	maxNotes = 10
)

// Server is a server of metrics. It is safe for concurrent use.
type Server struct {
	address *url.URL
	client  *http.Client
	timeout time.Duration
	header  http.Header
}

// Open returns a server. It connects to nothing yet.
func Open(o Options) (*Server, error) {
	address, err := url.Parse(o.Address)
	switch {
	case err != nil, address.Scheme != "http" && address.Scheme != "https", address.Host == "":
		return nil, failed(Misconfigured, "the address must be a URL such as http://prometheus.monitoring:9090")
	case address.User != nil || address.RawQuery != "" || address.Fragment != "":
		return nil, failed(Misconfigured, "the address has a user, a query or a fragment: credentials belong in the Secret")
	}
	if err := checkHeader(o.Header); err != nil {
		return nil, err
	}
	network, err := dialer.NewHTTP(&http.Transport{MaxIdleConns: 4, MaxResponseHeaderBytes: 64 << 10}, o.CABundle, connectTimeout, o.Networks, refused)
	if err != nil {
		return nil, failed(Misconfigured, "%v", err)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	server := &Server{address: address, timeout: o.Timeout, header: o.Header.Clone()}
	server.client = &http.Client{Transport: &bounded{network, server}, CheckRedirect: server.stay}
	return server, nil
}

func refused(ip netip.Addr) error {
	return failed(Misconfigured, "connections to %s are not allowed: if metrics are served there, add it to the controller's --git-allowed-networks", ip)
}

// stay follows no redirect: the credentials are of this server.
func (s *Server) stay(req *http.Request, _ []*http.Request) error {
	return failed(Misconfigured, "the server redirects to %s: give its address", s.words(req.URL.Host))
}

// bounded sends the header of the server, and reads each answer whole.
type bounded struct {
	next   http.RoundTripper
	server *Server
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range b.server.header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &patient{resp.Body, req, smallAnswer}
	body, err := dialer.Whole(resp, maxBody)
	_, tooLarge := errors.AsType[dialer.TooLargeError](err)
	switch {
	case tooLarge:
		return nil, failed(BadAnswer, "the answer is larger than %d MiB: select fewer series", maxBody>>20)
	case err != nil:
		return nil, fmt.Errorf("read answer: %w", err)
	case bytes.Count(body, []byte(",")) > maxCommas:
		return nil, failed(BadAnswer, "the answer has more than %d values: select fewer series", maxCommas)
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, failed(Unauthorised, "%s refuses the credentials: %d %s: %s",
			b.server.address.Host, resp.StatusCode, http.StatusText(resp.StatusCode), b.server.words(string(body)))
	case resp.StatusCode == http.StatusNotFound:
		return nil, failed(Misconfigured, "%s has nothing at %s: correct the address", b.server.address.Host, b.server.words(req.URL.Path))
	}
	return resp, nil
}

// explain gives an error its kind, and takes credentials out of its words. The end of the caller's
// context stays an error of that.
func (s *Server) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if own, is := errors.AsType[*Error](err); is {
		return own
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return failed(Unreachable, "no answer from %s within %s", s.address.Host, s.timeout)
	}
	return failed(Unreachable, "%s can't be asked: %s", s.address.Host, s.words(err.Error()))
}
