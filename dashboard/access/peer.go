package access

import (
	"bufio"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// ofStranger reports whether a request comes from a process of another user of this machine than
// the owner, other than root. Linux knows whose a connection is; elsewhere, and where it can't be
// found, nobody is known to be a stranger.
func ofStranger(r *http.Request, owner int) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	at, is := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if err != nil || !is {
		return false
	}
	to, err := netip.ParseAddrPort(at.String())
	if err != nil {
		return false
	}
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.Open(path)
		if err != nil {
			continue
		}
		uid, found := ownerOf(table, from, to)
		_ = table.Close() // it was only read
		if found {
			return uid != 0 && uid != owner
		}
	}
	return false
}

// ownerOf returns the user who has the end of a connection that is at an address, by a table of the
// kernel's (proc_pid_net(5)).
func ownerOf(table io.Reader, from, to netip.AddrPort) (uid int, found bool) {
	for lines := bufio.NewScanner(table); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || !isAddress(fields[1], from) || !isAddress(fields[2], to) {
			continue
		}
		uid, err := strconv.Atoi(fields[7])
		return uid, err == nil
	}
	return 0, false
}

// isAddress reports whether the kernel's text for an address, such as 0100007F:1F90, is that of
// another: 32 bits at a time, as this processor has them.
func isAddress(text string, want netip.AddrPort) bool {
	host, port, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil || uint16(number) != want.Port() {
		return false
	}
	raw, err := hex.DecodeString(host)
	if err != nil || len(raw)%4 != 0 {
		return false
	}
	turned := slices.Clone(raw)
	for word := range slices.Chunk(turned, 4) {
		slices.Reverse(word)
	}
	for _, bytes := range [][]byte{raw, turned} {
		if ip, ok := netip.AddrFromSlice(bytes); ok && ip.Unmap() == want.Addr().Unmap() {
			return true
		}
	}
	return false
}
