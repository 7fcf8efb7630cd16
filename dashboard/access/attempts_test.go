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

// The client is who the nearest proxy of ours says it is; what else the header says, the client may have written.
func TestClientOf(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	cases := map[string]struct {
		r       *http.Request
		proxies []netip.Prefix
		want    string
	}{
		"Direct":      {from("192.0.2.1:5"), proxies, "192.0.2.1"},
		"NoProxies":   {from("10.0.0.1:5", "192.0.2.1"), nil, "10.0.0.1"},
		"Claimed":     {from("192.0.2.1:5", "198.51.100.1"), proxies, "192.0.2.1"},
		"Proxied":     {from("10.0.0.1:5", "192.0.2.1"), proxies, "192.0.2.1"},
		"ClaimedMore": {from("10.0.0.1:5", "198.51.100.1, 192.0.2.1"), proxies, "192.0.2.1"},
		"TwoProxies":  {from("10.0.0.1:5", "198.51.100.1", "192.0.2.1, 10.2.3.4"), proxies, "192.0.2.1"},
		"Nonsense":    {from("10.0.0.1:5", "192.0.2.1, nonsense"), proxies, "10.0.0.1"},
		"Mapped":      {from("[::ffff:10.0.0.1]:5", "192.0.2.1"), proxies, "192.0.2.1"},
		"None":        {from("@"), proxies, "invalid IP"},
	}
	for name, tc := range cases {
		if got := clientOf(tc.r, tc.proxies).String(); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// A flood from one network leaves others their tries; floods from many together have a limit too, and little is remembered of them.
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
	if allowed > allTriesBurst || a.seen.Len() > maxAddresses {
		t.Errorf("%d tries of many networks, want %d at most; %d are remembered", allowed, allTriesBurst, a.seen.Len())
	}
}
