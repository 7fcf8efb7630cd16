package app

import (
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-dev/sluice/telemetry"
	"github.com/sluice-dev/sluice/telemetry/metrics"
)

// addTelemetry makes the process that holds the Lease tell what happens to releases: to its
// metrics, and to others.
func addTelemetry(mgr manager.Manager, others ...telemetry.Teller) error {
	counts := metrics.Default()
	tellers := append([]telemetry.Teller{counts}, others...)
	for _, part := range []manager.Runnable{counts.While(mgr.GetCache()), telemetry.NewWatcher(mgr.GetCache(), clock.RealClock{}, tellers...)} {
		if err := mgr.Add(part); err != nil {
			return fmt.Errorf("add telemetry: %w", err)
		}
	}
	return nil
}
