package journeys

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestMeddlingAtAnyMoment: F11, resuming the Deployment or removing our annotation at any moment
// means nothing while it is not held. While it is held, both are reverted, and after an
// acknowledgement the release ends as without.
func TestMeddlingAtAnyMoment(t *testing.T) {
	cases := map[string]struct {
		patch  string
		breaks []law
		races  []law
	}{
		// The native controller deletes the old pods, for all of which Recreate makes place, and they
		// are made again.
		"Resume": {`{"spec":{"paused":false}}`, []law{heldPaused}, putBackLate},
		"Strip":  {`{"metadata":{"annotations":{"` + v1alpha1.HoldAnnotation + `":null}}}`, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			excuse := excused(t, c.breaks...)
			excuse.races = c.races
			s := scenario{
				happens: func(w *world) { w.patchWorkload(c.patch) },
				excused: excuse,
				extra:   turnedBack,
			}
			s.sweep(t)
		})
	}
}

// patchWorkload changes the Deployment "web" out of band.
func (w *world) patchWorkload(patch string) {
	w.Helper()
	if err := w.Patch(w.Context(), w.mine(named[appsv1.Deployment]("web")), mergePatch(patch)); err != nil {
		w.Fatalf("change the Deployment: %v", err)
	}
}
