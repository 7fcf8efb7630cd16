package access

import (
	"net/http"
	"net/netip"
	"testing"
	"time"
)

func from(address string, forwarded ...string) *http.Request {
	r := &http.Request{RemoteAddr: address, Header: http.Header{}}
	for _, f := range forwarded {
		r.Header.Add("X-Forwarded-For", f)
	}
	return r
}

// TestFloodOfTries: a flood from one network leaves others their tries; floods from many together
// have a limit too, and little is remembered of them.
func TestFloodOfTries(t *testing.T) {
	t.Parallel()
	a, now := newAttempts(nil), time.Now()
	allowed := 0
	for i := range 10_000 {
		if a.allow(from(netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)}), 5).String()), now) {
			allowed++
		}
	}
	if allowed != triesBurst || !a.allow(from("192.0.2.1:5"), now) {
		t.Errorf("%d tries of one network, want %d, and another network then waits", allowed, triesBurst)
	}
	allowed = 0
	for i := range 100_000 {
		if a.allow(from(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 5).String()), now) {
			allowed++
		}
	}
	if allowed > allTriesBurst {
		t.Errorf("%d tries of many networks, want %d at most", allowed, allTriesBurst)
	}
}
