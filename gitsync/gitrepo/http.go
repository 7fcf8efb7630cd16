package gitrepo

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// httpConnector speaks smart HTTP. Connections are kept between looks.
type httpConnector struct {
	endpoint  *transport.Endpoint
	auth      transport.AuthMethod
	transport *http.Transport
}

func newHTTPConnector(ep *transport.Endpoint, auth Auth, dial *net.Dialer) (*httpConnector, error) {
	roots, err := certificates(auth.CABundle)
	if err != nil {
		return nil, err
	}
	return &httpConnector{
		endpoint: ep,
		auth:     httpAuth(auth),
		transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dial.DialContext,
			ForceAttemptHTTP2:   true,
			TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     90 * time.Second,
			MaxIdleConns:        2,
			DisableCompression:  true,
		},
	}, nil
}

// certificates returns the system's certificate pool with the bundle added; nil,
// which means the system's, if there is no bundle.
func certificates(bundle []byte) (*x509.CertPool, error) {
	if len(bundle) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, newError(InvalidAuth, "the CA bundle holds no PEM certificate")
	}
	return pool, nil
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
	client := githttp.NewClient(&http.Client{
		Transport:     &meteredTransport{next: c.transport, meter: m},
		CheckRedirect: sameOrigin,
	})
	endpoint := *c.endpoint // a redirect changes the session's endpoint
	return client.NewUploadPackSession(&endpoint, c.auth)
}

// sameOrigin refuses redirects to another host or port: credentials must not
// follow, and a redirect must not reach where the source's author could not. From
// http to https on the same host is fine.
func sameOrigin(req *http.Request, via []*http.Request) error {
	from, to := via[0].URL, req.URL
	upgrade := from.Scheme == "http" && to.Scheme == "https" && from.Port() == "" && to.Port() == ""
	if strings.EqualFold(from.Hostname(), to.Hostname()) && (port(from) == port(to) || upgrade) {
		return nil
	}
	return newError(Invalid, "the server redirects to another host, %s: set the source's url to where the repository is", to.Host)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// meteredTransport limits the bodies of answers, packs aside: those are limited
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
		resp.Body = t.cap(resp.Body, t.meter.limits.AdvertisementBytes, "the list of references")
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

// isCertificate tells whether a TLS handshake failed on the server's certificate.
func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	return errors.As(err, &verification)
}
