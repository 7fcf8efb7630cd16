// Package dialer connects to servers, but not to loopback, link-local, metadata or denied
// addresses.
package dialer

import (
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// Refused makes the error of a connection that is not allowed.
type Refused func(netip.Addr) error

// New returns a dialer that refuses addresses that the rules deny, after names were resolved: a
// name may stand for any address. The function refused returns the error of such a connection.
func New(timeout time.Duration, rules Rules, refused Refused) *net.Dialer {
	return &net.Dialer{
		Timeout: timeout,
		Control: func(_, address string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if ip := target.Addr(); !rules.Allow(ip) {
				return refused(ip.Unmap().WithZone(""))
			}
			return nil
		},
	}
}

// NewTransport returns a transport like base that heeds the rules. The proxies that base.Proxy
// names were chosen by whoever runs this process and may be anywhere; behind one, the proxy
// resolves and refuses names.
func NewTransport(base *http.Transport, timeout time.Duration, rules Rules, refused Refused) http.RoundTripper {
	direct := base.Clone()
	direct.Proxy = nil
	direct.DialContext = New(timeout, rules, refused).DialContext
	if base.Proxy == nil {
		return direct
	}
	proxied := base.Clone()
	proxied.DialContext = (&net.Dialer{Timeout: timeout}).DialContext
	return &transport{direct: direct, proxied: proxied, rules: rules, refused: refused}
}

// transport sends what goes through a proxy and what does not on different ways.
type transport struct {
	direct, proxied *http.Transport
	rules           Rules
	refused         Refused
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	proxy, err := t.proxied.Proxy(req)
	switch {
	case err != nil:
		return nil, err
	case proxy == nil:
		return t.direct.RoundTrip(req)
	}
	if ip, isAddress := addressOf(req.URL.Hostname()); isAddress && !t.rules.Allow(ip) {
		return nil, t.refused(ip.Unmap().WithZone(""))
	}
	return t.proxied.RoundTrip(req)
}

// CloseIdleConnections lets http.Client close what is kept open.
func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}
