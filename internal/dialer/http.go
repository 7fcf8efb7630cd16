package dialer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// errNoCertificate says that what users gave as certificates is none.
var errNoCertificate = errors.New("the CA bundle has no PEM certificate")

// NewHTTP returns a transport like base that heeds the rules and the environment's proxies, and
// trusts the PEM certificates of the bundle beside the system's. It fails only if the bundle is not
// empty and holds no certificate.
func NewHTTP(base *http.Transport, bundle []byte, timeout time.Duration, rules Rules, refused Refused) (http.RoundTripper, error) {
	roots, err := certificates(bundle)
	if err != nil {
		return nil, err
	}
	base = base.Clone()
	base.Proxy = http.ProxyFromEnvironment
	base.ForceAttemptHTTP2 = true
	base.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	base.TLSHandshakeTimeout = 10 * time.Second
	base.IdleConnTimeout = 90 * time.Second
	return NewTransport(base, timeout, rules, refused), nil
}

// certificates returns the system's certificate pool with the bundle added; nil, which means the
// system's, if there is no bundle.
func certificates(bundle []byte) (*x509.CertPool, error) {
	if len(bundle) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, errNoCertificate
	}
	return pool, nil
}

// SameServer reports whether two addresses lead to the same host and port, whatever they ask of it.
func SameServer(a, b *url.URL) bool {
	return strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
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
