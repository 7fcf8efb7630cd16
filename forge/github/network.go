package github

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/sluice-dev/sluice/internal/dialer"
)

// network returns the transport below all others.
func (o Options) network() (http.RoundTripper, error) {
	if o.Transport != nil {
		return o.Transport, nil
	}
	transport, err := dialer.NewHTTP(
		&http.Transport{ResponseHeaderTimeout: o.Timeout, MaxIdleConns: 4}, o.CABundle, 10*time.Second, o.Networks, refused)
	if err != nil {
		return nil, misconfigured("%v", err)
	}
	return transport, nil
}

// refused returns the error of a connection to a denied network.
func refused(ip netip.Addr) error {
	return misconfigured("connections to %s are not allowed: if a forge is there, add it to the controller's --git-allowed-networks", ip)
}

// isLoopback reports whether plain http goes no further than this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
