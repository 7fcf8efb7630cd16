package dialer_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/internal/dialer"
)

func TestDeniedNetworks(t *testing.T) {
	t.Parallel()
	errRefused := errors.New("refused")
	refused := func(netip.Addr) error { return errRefused }
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	tests := map[string]struct {
		denied []netip.Prefix
		want   error
	}{
		"an address of a denied network": {loopback, errRefused},
		"any other":                      {[]netip.Prefix{netip.MustParsePrefix("169.254.0.0/16")}, nil},
		"nothing is denied":              {nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			conn, err := dialer.New(time.Minute, test.denied, refused).DialContext(t.Context(), "tcp", listener.Addr().String())
			if !errors.Is(err, test.want) {
				t.Errorf("error is %v, want %v", err, test.want)
			}
			if err == nil {
				conn.Close()
			}
		})
	}
}
