package journeys

import (
	"context"
	"flag"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// everyApplier has the journeys run with each tool that applies workloads. To build one takes
// minutes.
var everyApplier = flag.Bool("every-applier", false, "run journeys with tools that take minutes to build")

// forNight skips a test that only the nightly run has.
func forNight(t *testing.T) {
	t.Helper()
	if !*everyApplier {
		t.Skip("takes minutes: make nightly-appliers runs it")
	}
}

// pinned returns a function that builds a tool of a module below hack, once, and returns its path.
func pinned(module, name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) { return controlplane.GoOutput(context.Background(), module, "tool", "-n", name) })
}
