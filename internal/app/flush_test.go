package app

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

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
	exporter, err := traces.New(traces.Options{Endpoint: "http://" + silent.Addr().String(), Logger: logr.Discard()})
	if err != nil {
		t.Fatalf("set up traces: %v", err)
	}
	exporter.Tell([]story.Fact{{Kind: story.BatchDone, UID: "u", Release: types.NamespacedName{Namespace: "shop", Name: "web"}, Attempt: 1, Batch: 1}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if err := (flushing{slow{length: time.Second}, exporter, 1500 * time.Millisecond}).Start(ctx); err != nil {
		t.Errorf("want an end, got %v", err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("want an end after 1.5 s, it took %v", took)
	}
	if shutdown >= 10*time.Second || graceful >= shutdown {
		t.Errorf("want the parts to end within the %v of the process, and that before it is killed", shutdown)
	}
}
