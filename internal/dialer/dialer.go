// Package dialer connects to servers whose address comes from somebody who may not reach all that
// we can.
package dialer

import (
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// New returns a dialer that refuses addresses in the denied networks, after names were resolved:
// a name may stand for any address. The error of such a connection is what refused returns.
func New(timeout time.Duration, denied []netip.Prefix, refused func(netip.Addr) error) *net.Dialer {
	return &net.Dialer{
		Timeout: timeout,
		Control: func(_, address string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			ip := target.Addr().Unmap().WithZone("")
			if slices.ContainsFunc(denied, func(p netip.Prefix) bool { return p.Contains(ip) }) {
				return refused(ip)
			}
			return nil
		},
	}
}
