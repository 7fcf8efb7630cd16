package dashboard

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	"github.com/sluice-dev/sluice/internal/kube"
)

// crowd is a listener at which more clients come than are let in, from addresses of their own or
// from one. Each says nothing.
type crowd struct {
	oneAddress bool
	lock       sync.Mutex
	clients    []net.Conn
	// closed is how many the server has closed.
	closed int
	done   chan struct{}
	once   sync.Once
}

func (c *crowd) Accept() (net.Conn, error) {
	c.lock.Lock()
	many := len(c.clients)
	if many > mostConnections {
		c.lock.Unlock()
		<-c.done
		return nil, net.ErrClosed
	}
	client, conn := net.Pipe()
	c.clients = append(c.clients, client)
	c.lock.Unlock()
	if c.oneAddress {
		many = 0
	}
	address := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(many >> 8), byte(many)}), 5)
	return &counted{conn, address, func() {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.closed++
	}}, nil
}

func (c *crowd) Close() error   { c.once.Do(func() { close(c.done) }); return nil }
func (c *crowd) Addr() net.Addr { return &net.TCPAddr{} }

// counted is a connection from an address that says that it was closed.
type counted struct {
	net.Conn

	remote netip.AddrPort
	closed func()
}

func (c *counted) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

func (c *counted) Close() error {
	c.closed()
	return c.Conn.Close()
}

// TestConnectionsAreLimited: there are only so many connections, each of which holds memory, and
// fewer from one address.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ came, closed int }{
		"Many": {mostConnections, 0},
		"One":  {mostConnections + 1, mostConnections + 1 - mostOfAnyAddress},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := New(Options{Objects: &informertest.FakeInformers{Scheme: kube.NewScheme()}, Door: open{}, Logger: logr.Discard(), Clock: clock.RealClock{}})
				ctx, end := context.WithCancel(t.Context())
				listener, served := &crowd{done: make(chan struct{}), oneAddress: name == "One"}, make(chan error, 1)
				go func() { served <- d.Serve(ctx, listener, func() {}) }()
				synctest.Wait()
				listener.lock.Lock()
				if came := len(listener.clients); came != c.came || listener.closed != c.closed {
					t.Errorf("%d connections came and %d were closed, want %d and %d", came, listener.closed, c.came, c.closed)
				}
				listener.lock.Unlock()
				end()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// knocks are the addresses from which clients come, one after the other, and what becomes of them.
type knocks struct {
	net.Listener

	addresses []string
	closed    int
}

func (k *knocks) Accept() (net.Conn, error) {
	if len(k.addresses) == 0 {
		return nil, net.ErrClosed
	}
	address := netip.MustParseAddrPort(k.addresses[0])
	k.addresses = k.addresses[1:]
	client, conn := net.Pipe()
	go func() {
		_, _ = io.Copy(io.Discard, client) // until the other end is closed
	}()
	return &counted{conn, address, func() { k.closed++ }}, nil
}

// TestConnectionsOfOneAddress: one address, or one IPv6 network, can't have all connections, and a
// known proxy can. A closed connection can be replaced.
func TestConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for name, c := range map[string]struct {
		reason  string
		from    func(i int) string
		proxies []netip.Prefix
		want    int
	}{
		"One":     {"it may be a proxy that nobody has named", func(int) string { return "192.0.2.1:5" }, nil, mostOfAnyAddress},
		"NoProxy": {"it is none that was named", func(int) string { return "192.0.2.1:5" }, proxies, mostOfOneAddress},
		"Proxy":   {"it brings many people", func(int) string { return "10.1.2.3:5" }, proxies, mostOfProxies},
		"Proxies": {"others are left for probes", func(i int) string { return fmt.Sprintf("10.1.2.%d:5", i%250) }, proxies, mostOfProxies},
		"Network": {"its addresses cost nothing", func(i int) string { return fmt.Sprintf("[2001:db8::%x]:5", i) }, proxies, mostOfOneAddress},
		"Many":    {"each has its own", func(i int) string { return fmt.Sprintf("192.0.2.%d:5", i%250) }, proxies, mostConnections},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clients := &knocks{}
			for i := range mostConnections {
				clients.addresses = append(clients.addresses, c.from(i))
			}
			listener := newShares(clients, c.proxies)
			var open []net.Conn
			for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
				open = append(open, conn)
			}
			if len(open) != c.want || clients.closed != mostConnections-c.want {
				t.Fatalf("%s: %d connections are open and %d were closed, want %d and the rest", c.reason, len(open), clients.closed, c.want)
			}
			for range 2 { // closing twice gives back once
				_ = open[0].Close()
			}
			clients.addresses = []string{c.from(0), c.from(0)}
			again := 0
			for _, err := listener.Accept(); err == nil; _, err = listener.Accept() {
				again++
			}
			if c.want < mostConnections && again != 1 {
				t.Errorf("%s: %d more connections after one was closed, want 1", c.reason, again)
			}
			for _, conn := range open[1:] {
				_ = conn.Close()
			}
		})
	}
}
