package journeys

import (
	"context"
	"flag"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
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

// goesBack has an applier release web:4 up to its gate and revert it to web:3, and web:5, which is
// rolled back at its gate.
func (h tool) goesBack(push func(image string)) {
	h.Helper()
	push("web:4")
	h.await(all(web.blocksAt(0), web.runs(pods{"web:3": 3, "web:4": 1})))
	push("web:3")
	h.await(all(web.completed, web.serves("web:3", 4), web.rolledBack(v1alpha1.TriggerGitRevert, "")))
	push("web:5")
	h.await(all(web.blocksAt(0), web.runs(pods{"web:3": 3, "web:5": 1})))
	h.rollBack()
	h.await(all(web.completed, web.serves("web:3", 4), web.quarantined))
}
