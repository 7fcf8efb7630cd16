package dialer

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// addressOf returns the address of a host, in any notation that the proxy's system may read:
// inet_aton takes 2130706433, 0x7f.1 and 0177.0.0.1 for 127.0.0.1. A host that ends in a number and
// is no address can't be a name either (no top-level domain is a number): it counts as the
// unspecified address.
func addressOf(host string) (ip netip.Addr, isAddress bool) {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip, true
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if _, isNumber := number(parts[len(parts)-1]); !isNumber {
		return netip.Addr{}, false
	}
	unspecified := netip.IPv4Unspecified()
	if len(parts) > 4 {
		return unspecified, true
	}
	var value uint64
	for i, part := range parts {
		n, isNumber := number(part)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i) // the last one fills what is left
		}
		if !isNumber || n>>bits != 0 {
			return unspecified, true
		}
		value = value<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// number reads a part of an address as C does: 0x is hexadecimal, 0 octal. Digits alone are a
// number, even if too large.
func number(part string) (n uint64, isNumber bool) {
	digits, base := part, 10
	switch lower := strings.ToLower(part); {
	case strings.HasPrefix(lower, "0x"):
		digits, base = part[2:], 16
	case len(part) > 1 && part[0] == '0':
		digits, base = part[1:], 8
	}
	if digits == "" {
		return 0, base == 16
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err == nil {
		return n, true
	}
	return tooLarge, strings.Trim(part, "0123456789") == "" || errors.Is(err, strconv.ErrRange)
}

// tooLarge is more than any part may be.
const tooLarge = 1 << 40
