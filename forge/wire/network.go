package wire

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/sluice-dev/sluice/internal/dialer"
)

// Network returns the transport below all others, which trusts a CA bundle (PEM) beside the
// system's, and connects to no denied network.
func Network(timeout time.Duration, trusted []byte, networks dialer.Rules) (http.RoundTripper, error) {
	transport, err := dialer.NewHTTP(
		&http.Transport{ResponseHeaderTimeout: timeout, MaxIdleConns: 4}, trusted, 10*time.Second, networks, refused)
	if err != nil {
		return nil, Misconfigured("%v", err)
	}
	return transport, nil
}

// refused returns the error of a connection to a denied network.
func refused(ip netip.Addr) error {
	return Misconfigured("connections to %s are not allowed: if a forge is there, add it to the controller's --git-allowed-networks", ip)
}

// IsLoopback reports whether plain http goes no further than this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
