package remote_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/sluice-dev/sluice/internal/remote"
)

// TestNetwork: who has one address of a network easily has the others too.
func TestNetwork(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ from, want string }{
		"IPv4":         {"192.0.2.1:5", "192.0.2.1/32"},
		"Mapped":       {"[::ffff:192.0.2.1]:5", "192.0.2.1/32"},
		"IPv6":         {"[2001:db8::1]:5", "2001:db8::/64"},
		"Zone":         {"[fe80::1%eth0]:5", "fe80::/64"},
		"NoPort":       {"192.0.2.1", "invalid Prefix"},
		"NoAddress":    {"pipe", "invalid Prefix"},
		"NothingAtAll": {"", "invalid Prefix"},
	}
	for name, tc := range cases {
		if got := remote.Network(remote.Address(tc.from)).String(); got != tc.want {
			t.Errorf("%s: %q counts as %s, want %s", name, tc.from, got, tc.want)
		}
	}
}

// TestIn: an address is in a network of its own family.
func TestIn(t *testing.T) {
	t.Parallel()
	networks := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for from, want := range map[string]bool{"10.1.2.3:5": true, "[::ffff:10.1.2.3]:5": true, "[fd00::1]:5": true, "192.0.2.1:5": false, "": false} {
		if got := remote.In(networks, remote.Address(from)); got != want {
			t.Errorf("%q: got %t, want %t", from, got, want)
		}
	}
}

func from(address string, forwarded ...string) *http.Request {
	r := &http.Request{RemoteAddr: address, Header: http.Header{}}
	for _, f := range forwarded {
		r.Header.Add("X-Forwarded-For", f)
	}
	return r
}

// TestClient: the client is the one that our nearest proxy names; the rest of the header may be
// the client's own.
func TestClient(t *testing.T) {
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
		if got := remote.Client(tc.r, tc.proxies).String(); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}
