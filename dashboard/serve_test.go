package dashboard

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"

	"github.com/sluice-dev/sluice/internal/kube"
)

// crowd is a listener at which more clients come than are let in. Each says nothing.
type crowd struct {
	lock    sync.Mutex
	clients []net.Conn
	done    chan struct{}
	once    sync.Once
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
	return conn, nil
}

func (c *crowd) Close() error   { c.once.Do(func() { close(c.done) }); return nil }
func (c *crowd) Addr() net.Addr { return &net.TCPAddr{} }

// There are only so many connections, each of which holds memory.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := New(Options{Objects: &informertest.FakeInformers{Scheme: kube.NewScheme()}, Door: open{}, Logger: logr.Discard(), Clock: clock.RealClock{}})
		ctx, end := context.WithCancel(t.Context())
		listener, served := &crowd{done: make(chan struct{})}, make(chan error, 1)
		go func() { served <- d.Serve(ctx, listener, func() {}) }()
		synctest.Wait()
		listener.lock.Lock()
		got := len(listener.clients)
		listener.lock.Unlock()
		if got != mostConnections {
			t.Errorf("%d connections are open, want %d", got, mostConnections)
		}
		end()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
