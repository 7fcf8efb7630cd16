package dialer_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/internal/dialer"
)

var errRefused = errors.New("refused")

func refused(netip.Addr) error { return errRefused }

func TestDeniedNetworks(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		rules dialer.Rules
		want  error
	}{
		"loopback, unless it is allowed": {dialer.Rules{}, errRefused},
		"what is allowed":                {dialer.Rules{Allowed: dialer.Loopback()}, nil},
		"allowed, although it is denied": {dialer.Rules{Denied: dialer.Loopback(), Allowed: dialer.Loopback()}, nil},
		"something else is allowed":      {dialer.Rules{Allowed: []netip.Prefix{netip.MustParsePrefix("169.254.0.0/16")}}, errRefused},
	}
	for name, test := range tests {
		// All of these are 127.0.0.1, whatever a name resolves to.
		for _, host := range []string{"127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "localhost"} {
			t.Run(name+" "+host, func(t *testing.T) {
				t.Parallel()
				conn, err := dialer.New(time.Minute, test.rules, refused).DialContext(t.Context(), "tcp4", net.JoinHostPort(host, port))
				if !errors.Is(err, test.want) {
					t.Errorf("error is %v, want %v", err, test.want)
				}
				if err == nil {
					conn.Close()
				}
			})
		}
	}
}

// TestUnspecified: the unspecified address, of which no rule can speak, leads to this machine.
func TestUnspecified(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:1", "[::]:1", "[::ffff:0.0.0.0]:1"} {
		_, err := dialer.New(time.Minute, dialer.Rules{}, refused).DialContext(t.Context(), "tcp", address)
		if !errors.Is(err, errRefused) {
			t.Errorf("%s: error is %v, want it refused", address, err)
		}
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	rules := dialer.Rules{Denied: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	denied := []string{
		"127.0.0.1", "127.8.9.1", "::1", "0.0.0.0", "0.1.2.3", "::", "::ffff:127.0.0.1", "::127.0.0.1",
		"169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0",
		"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "192.0.0.192", "168.63.129.16",
		"10.1.2.3", "::ffff:10.1.2.3",
		"64:ff9b::a9fe:a9fe",                   // NAT64 of 169.254.169.254
		"64:ff9b::7f00:1",                      // of 127.0.0.1
		"64:ff9b::a01:203",                     // of 10.1.2.3
		"64:ff9b:1:a9fe:a9:fe00::",             // local NAT64, /48
		"64:ff9b:1:a9:fe:a9fe::",               // /56
		"64:ff9b:1:0:a9:fea9:fe00:0",           // /64
		"64:ff9b:1:2:3:4:a9fe:a9fe",            // /96
		"2002:a9fe:a9fe::1",                    // 6to4
		"2002:7f00:1::",                        //
		"2001:0:4136:e378:8000:63bf:5601:5601", // Teredo, client 169.254.169.254
		"2001:db8::5efe:a9fe:a9fe",             // ISATAP
		"2001:db8::200:5efe:7f00:1",            //
	}
	for _, address := range denied {
		if rules.Allow(netip.MustParseAddr(address)) {
			t.Errorf("%s is allowed", address)
		}
	}
	allowed := []string{
		"192.0.2.1", "11.0.0.1", "192.168.1.1", "172.16.0.1", "100.100.100.201", "2001:db8::1", "fd00::1", "::ffff:192.0.2.1",
		"64:ff9b::c000:201", "2002:c000:201::1", "64:ff9b:1:2:3:4:c000:201",
	}
	for _, address := range allowed {
		if !rules.Allow(netip.MustParseAddr(address)) {
			t.Errorf("%s is denied", address)
		}
	}
}

// TestProxy: the proxy itself may be anywhere, since the operator has set it. Its target may not,
// as far as the address tells.
func TestProxy(t *testing.T) {
	t.Parallel()
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Host) }))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) {
		if r.URL.Hostname() == "127.0.0.1" {
			return nil, nil
		}
		return at, nil
	}}
	client := &http.Client{Transport: dialer.NewTransport(base, time.Minute, dialer.Rules{}, refused)}
	for address, want := range map[string]error{
		"http://git.example.com/": nil, "http://169.254.169.254/": errRefused, "http://[::ffff:169.254.169.254]/": errRefused, proxy.URL: errRefused,
		// The same in the ways of inet_aton, as the proxy's system may read it.
		"http://2852039166/": errRefused, "http://0xa9fea9fe/": errRefused, "http://169.254.43518/": errRefused, "http://169.16689662/": errRefused,
		"http://0251.0376.0251.0376/": errRefused, "http://0XA9.254.0251.254/": errRefused, "http://169.254.169.254./": errRefused,
		"http://127.1/": errRefused, "http://0/": errRefused, "http://0x/": errRefused, "http://[fe80::1%25eth0]/": errRefused,
		// No address, and no name either.
		"http://127.0.0.0.1/": errRefused, "http://1.2.3.256/": errRefused, "http://0x1ffffffffffffffff/": errRefused, "http://09.0.0.1/": errRefused,
		"http://evil.1/": errRefused,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(request)
		if !errors.Is(err, want) {
			t.Errorf("%s: error is %v, want %v", address, err, want)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
	if len(asked) != 1 || asked[0] != "git.example.com" {
		t.Errorf("the proxy was asked for %q, want git.example.com alone", asked)
	}
}
