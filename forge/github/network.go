package github

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/sluice-dev/sluice/internal/dialer"
)

// network is the transport below all others.
func (o Options) network() (http.RoundTripper, error) {
	if o.Transport != nil {
		return o.Transport, nil
	}
	roots, err := certificates(o.CABundle)
	if err != nil {
		return nil, err
	}
	return dialer.NewTransport(&http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: o.Timeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConns:          4,
	}, 10*time.Second, o.Networks, refused), nil
}

// refused is the error of a connection to a denied network.
func refused(ip netip.Addr) error {
	return invalid("connections to %s are not allowed: if a forge is there, add it to the controller's --git-allowed-networks", ip)
}

// certificates returns the system's certificate pool with the bundle added; nil, which means
// the system's, if there is no bundle.
func certificates(bundle []byte) (*x509.CertPool, error) {
	if len(bundle) == 0 {
		return nil, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, invalid("the CA bundle has no PEM certificate")
	}
	return pool, nil
}

// isLoopback reports whether plain http goes no further than this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
