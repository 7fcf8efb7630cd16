// Package remote says from where a request comes, for limits that hold for each place.
package remote

import (
	"net/http"
	"net/netip"
	"strings"
)

// v6Network is the IPv6 prefix length that one person easily has.
const v6Network = 64

// Address returns the address of a remote host:port, as in http.Request. Invalid text gives the
// zero address.
func Address(hostPort string) netip.Addr {
	from, err := netip.ParseAddrPort(hostPort)
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr().Unmap()
}

// Network returns what requests from an address are counted by: an IPv4 address alone, an IPv6
// address with its network. All that is no address counts as one.
func Network(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = v6Network
	}
	network, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}

// In reports whether an address is in one of some networks.
func In(networks []netip.Prefix, address netip.Addr) bool {
	for _, network := range networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// Client returns the address of a request's client: the last one in X-Forwarded-For that is not of
// a trusted proxy. Anybody can have written what comes before it.
func Client(r *http.Request, proxies []netip.Prefix) netip.Addr {
	address := Address(r.RemoteAddr)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && In(proxies, address); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		address = before.Unmap()
	}
	return address
}
