package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-dev/sluice/telemetry"
	"github.com/sluice-dev/sluice/telemetry/traces"
)

// newTraces makes what tells of releases as traces; nil if nothing is to be sent.
func newTraces(opts Options, logger logr.Logger) (*traces.Exporter, error) {
	if !opts.Traces.Enabled() {
		return nil, nil
	}
	to := opts.Traces
	to.Cluster, to.Version, to.Logger = opts.Cluster, opts.Version, logger.WithName("traces")
	exporter, err := traces.New(to)
	if err != nil {
		return nil, fmt.Errorf("set up traces: %w", err)
	}
	return exporter, nil
}

// tellers returns all that tell facts.
func tellers(exporter *traces.Exporter) []telemetry.Teller {
	if exporter == nil {
		return nil
	}
	return []telemetry.Teller{exporter}
}

// shutdown is how long the process takes to end, at most. The kubelet kills it after
// terminationGracePeriodSeconds, which is 10.
const shutdown = 8 * time.Second

// graceful is how much of that the parts may take. Then the Lease is given up.
const graceful = 6 * time.Second

// flushing is a manager that sends what is left of the traces once it has ended and given up its
// Lease: another one takes over at once, however long the collector takes. So it does if parts did
// not end in time, in the time that is left. One that has lost its Lease must end now.
type flushing struct {
	manager.Manager

	traces *traces.Exporter
	// within is how long the manager and the traces may take to end together.
	within time.Duration
}

// Start runs the manager until ctx ends.
func (m flushing) Start(ctx context.Context) error {
	left, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(m.within, end) })()
	err := m.Manager.Start(ctx)
	if err != nil && !wasSlow(ctx, err) {
		return err
	}
	m.traces.Shutdown(left)
	return err
}

// wasSlow reports whether a manager ended because ctx did, but not in time.
func wasSlow(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded)
}
