package journeys

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// loseStatus clears the whole status of the release "web", as a restore from a backup does.
func (w *world) loseStatus() {
	w.Helper()
	release := w.mine(named[v1alpha1.BatchRelease]("web"))
	patch := client.RawPatch("application/json-patch+json", []byte(`[{"op":"replace","path":"/status","value":{}}]`))
	if err := w.Status().Patch(w.Context(), release, patch); err != nil {
		w.Fatalf("clear the status: %v", err)
	}
}

// TestStatusLostAtAnyMoment: the status is lost altogether before each write: a release goes
// through all its gates again, and what was rolled back stays rolled back, and quarantined: the
// history knows of it.
func TestStatusLostAtAnyMoment(t *testing.T) {
	onlyQuarantine := func(e *ending) {
		e.Release, e.Gates = v1alpha1.BatchReleaseStatus{Quarantined: e.Release.Quarantined}, nil
	}
	cases := map[string]scenario{
		"Release": {},
		"Rollback": {
			earlier: func(w *world) {
				c := w.startController()
				w.await(web.blocksAt(0))
				c.kill()
				w.rollBack()
			},
			ends: all(web.completed, web.serves("web:1", 6), web.quarantined),
		},
		"RollbackAfterTheEnd": {
			earlier: func(w *world) {
				c := w.startController()
				w.awaitConfirming(all(web.completed, web.serves("web:2", 6)))
				c.kill()
				w.rollBack()
			},
			ends: all(web.completed, web.serves("web:1", 6), web.quarantined),
		},
	}
	for name, s := range cases {
		t.Run(name, func(t *testing.T) {
			s.happens, s.forget, s.extra = (*world).loseStatus, onlyQuarantine, begunAnew
			if name == "Release" {
				// Where it is lost in the last batch an updated pod makes room for an old one, until
				// the gates pass again: no ReplicaSet may be alone. Which writes a run has there
				// depends on how fast the pods are.
				s.excused = excused(t)
				s.excused.races = []law{neverFewer, oldStays}
			}
			s.sweep(t)
		})
	}
}

// begunAnew is how many writes beyond slack it may take that a release begins again. Measured with
// -every-moment, with and without other load: 42 writes at most where the status is lost in the
// last batch; 23 to 27 if nothing happens.
const begunAnew = 11
