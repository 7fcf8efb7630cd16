package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-dev/sluice/internal/testbed/collector"
	"github.com/sluice-dev/sluice/telemetry/story"
	"github.com/sluice-dev/sluice/telemetry/traces"
)

// slow is a manager that takes some time to end.
type slow struct {
	manager.Manager

	length time.Duration
}

// Start implements manager.Manager.
func (s slow) Start(ctx context.Context) error {
	<-ctx.Done()
	<-time.After(s.length)
	return nil
}

// TestEndIsBounded: the time that the parts need to end is not left for traces.
func TestEndIsBounded(t *testing.T) {
	t.Parallel()
	silent, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { silent.Close() })
	exporter := told(t, "http://"+silent.Addr().String())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if err := (flushing{slow{length: time.Second}, exporter, 1500 * time.Millisecond}).Start(ctx); err != nil {
		t.Errorf("want an end, got %v", err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("want an end after 1.5 s, it took %v", took)
	}
	if shutdown >= 10*time.Second || ending >= shutdown || graceful >= ending {
		t.Errorf("want the parts to end within the %v of the process, and that before it is killed", shutdown)
	}
}

// told returns an exporter with a span to send.
func told(t *testing.T, endpoint string) *traces.Exporter {
	t.Helper()
	exporter, err := traces.New(traces.Options{Endpoint: endpoint, Logger: logr.Discard()})
	if err != nil {
		t.Fatalf("set up traces: %v", err)
	}
	exporter.Tell([]story.Fact{{Kind: story.BatchDone, UID: "u", Release: types.NamespacedName{Namespace: "shop", Name: "web"}, Attempt: 1, Batch: 1}})
	return exporter
}

// endless is a manager whose Start never returns, as where the API server does not answer when the
// Lease is to be given up.
type endless struct{ manager.Manager }

// Start implements manager.Manager.
func (endless) Start(context.Context) error { select {} }

// failing is a manager that ends with an error.
type failing struct {
	manager.Manager

	err error
}

// Start implements manager.Manager.
func (f failing) Start(ctx context.Context) error {
	<-ctx.Done()
	return f.err
}

// TestSlowEndSendsTraces: a process whose parts don't end in time ends, and sends its traces in the
// time left. A process that has lost its Lease sends nothing.
func TestSlowEndSendsTraces(t *testing.T) {
	t.Parallel()
	synced := make(started)
	close(synced)
	lost := errors.New("leader election lost")
	for name, test := range map[string]struct {
		manager manager.Manager
		want    error
		sent    int
	}{
		"never ends":          {stoppable{endless{}, synced, time.Millisecond}, context.DeadlineExceeded, 1},
		"ends after its time": {failing{err: fmt.Errorf("grace period: %w", context.DeadlineExceeded)}, context.DeadlineExceeded, 1},
		"has lost its Lease":  {failing{err: lost}, lost, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := collector.New(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := (flushing{test.manager, told(t, to.URL), time.Minute}).Start(ctx); !errors.Is(err, test.want) {
				t.Errorf("want %v, got %v", test.want, err)
			}
			if spans := to.Spans(); len(spans) != test.sent {
				t.Errorf("want %d spans sent, got %d", test.sent, len(spans))
			}
		})
	}
}
