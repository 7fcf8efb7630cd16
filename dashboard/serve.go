package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-dev/sluice/dashboard/access"
)

// shutdown is how long requests in progress may take once the dashboard is to end.
const shutdown = 3 * time.Second

// mostConnections of clients that are open at a time; others wait. Each of the streams has one.
const mostConnections = 2 * mostStreams

// Serve runs the cache and serves the pages until ctx ends, in a process that has nothing else to
// run the cache. It calls ready once people may come.
func (d *Dashboard) Serve(ctx context.Context, listener net.Listener, ready func()) error {
	group, ctx := errgroup.WithContext(ctx)
	server := access.Server(d.Handler())
	server.BaseContext = func(net.Listener) context.Context { return ctx } // streams end with it
	group.Go(func() error {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
		defer cancel()
		if server.Shutdown(ending) == nil {
			return nil
		}
		if err := server.Close(); err != nil {
			return fmt.Errorf("stop serving: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		if err := d.options.Objects.Start(ctx); err != nil {
			return fmt.Errorf("run cache: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		if err := d.Follow(ctx); err != nil {
			return err
		}
		ready()
		if err := server.Serve(newShares(netutil.LimitListener(listener, mostConnections), d.options.Proxies)); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	return group.Wait()
}
