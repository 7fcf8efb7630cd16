package gitrepo

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/sluice-dev/sluice/internal/dialer"
)

// httpConnector speaks smart HTTP. Connections are kept between polls.
type httpConnector struct {
	endpoint *transport.Endpoint
	auth     transport.AuthMethod
	tripper  http.RoundTripper
	// at is the address of the repository after redirects, as of the last session.
	at *transport.Endpoint
}

func newHTTPConnector(ep *transport.Endpoint, auth Auth, networks dialer.Rules) (*httpConnector, error) {
	through, err := dialer.NewHTTP(&http.Transport{MaxIdleConns: 2, DisableCompression: true}, auth.CABundle, dialTimeout, networks, refused)
	if err != nil {
		return nil, newError(InvalidAuth, "%v", err)
	}
	return &httpConnector{endpoint: ep, auth: httpAuth(auth), tripper: through}, nil
}

func httpAuth(auth Auth) transport.AuthMethod {
	switch {
	case auth.BearerToken != "":
		return &githttp.TokenAuth{Token: auth.BearerToken}
	case auth.Username != "" || auth.Password != "":
		return &githttp.BasicAuth{Username: auth.Username, Password: auth.Password}
	}
	return nil
}

func (c *httpConnector) open(_ context.Context, m *meter) (session, error) {
	endpoint := *c.endpoint // a redirect changes the session's endpoint
	c.at = &endpoint
	return githttp.NewClient(c.client(m)).NewUploadPackSession(&endpoint, c.auth)
}

func (c *httpConnector) client(m *meter) *http.Client {
	return &http.Client{Transport: &meteredTransport{next: c.tripper, meter: m}, CheckRedirect: sameOrigin}
}

// ask implements blobConnector.
func (c *httpConnector) ask(ctx context.Context, m *meter, request []byte) (io.ReadCloser, error) {
	address := cmp.Or(c.at, c.endpoint).String() + "/" + transport.UploadPackServiceName
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Git-Protocol", "version=2")
	req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	req.Header.Set("Accept", "application/x-git-upload-pack-result")
	req.Header.Set("User-Agent", capability.DefaultAgent())
	if auth, ok := c.auth.(githttp.AuthMethod); ok {
		auth.SetAuth(req)
	}
	resp, err := c.client(m).Do(req)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusOK:
		return resp.Body, nil
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusNotImplemented:
		return nil, errNotServed
	}
	return nil, newError(Protocol, "the server answers %q to a request for files", resp.Status)
}

// sameOrigin refuses redirects to another host or port: credentials must not
// follow, and a redirect must not reach where the source's author could not. From
// http to https on the same host is fine, and from https to http never, whatever the port.
func sameOrigin(req *http.Request, via []*http.Request) error {
	last, from, to := via[len(via)-1].URL, via[0].URL, req.URL
	if len(via) > maxRedirects {
		return newError(Invalid, "the server redirects over and over")
	}
	if to.Scheme != "https" && (to.Scheme != from.Scheme || to.Scheme != last.Scheme) {
		return newError(Invalid, "the server redirects from %s to %s: credentials and files would go over the network in the clear", last.Scheme, to.Scheme)
	}
	upgrade := from.Scheme == "http" && to.Scheme == "https" && from.Port() == "" && to.Port() == ""
	if dialer.SameServer(from, to) || upgrade && strings.EqualFold(from.Hostname(), to.Hostname()) {
		return nil
	}
	return newError(Invalid, "the server redirects to another host, %s: set the source's url to where the repository is", to.Host)
}

// maxRedirects is for repositories that were renamed.
const maxRedirects = 5

// meteredTransport limits the bodies of answers, except packs, which are limited
// where they are read.
type meteredTransport struct {
	next  http.RoundTripper
	meter *meter
}

// RoundTrip implements http.RoundTripper.
func (t *meteredTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode != http.StatusOK:
		resp.Body = t.cap(resp.Body, 64<<10, "the server's error message")
	case req.Method == http.MethodGet:
		resp.Body = readCloser{t.meter.refs(resp.Body), resp.Body}
	default:
		resp.Body = readCloser{t.meter.answer(resp.Body), resp.Body}
	}
	return resp, nil
}

func (t *meteredTransport) cap(body io.ReadCloser, limit int64, what string) io.ReadCloser {
	return readCloser{t.meter.cap(body, limit, what), body}
}

type readCloser struct {
	io.Reader
	io.Closer
}

// isCertificate reports whether a TLS handshake failed on the server's certificate.
func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	return errors.As(err, &verification)
}
