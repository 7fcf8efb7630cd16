package cptest

import (
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// Own starts a control plane for one test alone, and stops it after the test: for tests that break
// it, or that need it without what others install.
func Own(tb testing.TB, options controlplane.Options) *controlplane.ControlPlane {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a control plane")
	}
	cp, err := controlplane.Start(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			tb.Errorf("stop the control plane: %v", err)
		}
	})
	return cp
}
