package dialer

import (
	"net/netip"
	"slices"
)

// Rules say which addresses may be connected to. The zero value denies what Reserved lists.
type Rules struct {
	// Denied networks, beside those that are Reserved.
	Denied []netip.Prefix
	// Allowed networks, whatever else denies them.
	Allowed []netip.Prefix
}

// Loopback returns the networks of this machine alone.
func Loopback() []netip.Prefix { return slices.Clone(reserved[:2]) }

// Reserved returns the networks in which no server of ours is: loopback, link-local, and the
// addresses outside of these at which clouds give out credentials.
func Reserved() []netip.Prefix { return slices.Clone(reserved) }

var reserved = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("::1/128"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS: fd00:ec2::254
	netip.MustParsePrefix("fd20:ce::254/128"),   // Google Cloud
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud, the older one
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure's host, beside 169.254.169.254
}

// Allow reports whether connections to an address are allowed. The address behind it counts as
// well: an IPv6 address that leads to an IPv4 one is denied with that one, and the unspecified
// address, which leads to this machine, with loopback.
func (r Rules) Allow(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return !slices.ContainsFunc(append(behind(ip), ip), r.deny)
}

func (r Rules) deny(ip netip.Addr) bool {
	if within(ip, r.Allowed) {
		return false
	}
	return within(ip, reserved) || within(ip, r.Denied)
}

func within(ip netip.Addr, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	sixToFour   = netip.MustParsePrefix("2002::/16")
	teredo      = netip.MustParsePrefix("2001::/32")
	nat64       = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64  = netip.MustParsePrefix("64:ff9b:1::/48")
	compatible  = netip.MustParsePrefix("::/96")
)

// behind returns the addresses that an address leads to, if it is not a server's own.
func behind(ip netip.Addr) []netip.Addr {
	if ip.IsUnspecified() || thisNetwork.Contains(ip) {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	if ip.Is4() || ip == netip.IPv6Loopback() {
		return nil
	}
	b := ip.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case sixToFour.Contains(ip):
		return []netip.Addr{at(2)}
	case teredo.Contains(ip):
		client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
		return []netip.Addr{at(4), netip.AddrFrom4(client)}
	case localNAT64.Contains(ip):
		// Prefixes of 48, 56, 64 and 96 bits (RFC 6052, section 2.2), around the byte that is 0.
		return []netip.Addr{
			netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}), netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}), at(9), at(12),
		}
	case nat64.Contains(ip), compatible.Contains(ip):
		return []netip.Addr{at(12)}
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return []netip.Addr{at(12)}
	}
	return nil
}
