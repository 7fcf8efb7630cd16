package journeys

import (
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A new template in the middle of a release takes its place: V1, V2, V3.
func TestContinuousRelease(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10))
	w.create(release("web:2", step("30%"), step("60%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 7, "web:2": 3})))
	w.releaseImage("web:3")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 7, "web:3": 3})))
	w.wantNoGatesOfAttempt(1)
	w.confirm("web")
	w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 4, "web:3": 6})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:3", 10)))

	// What was stable before the release is what a rollback goes back to, not what was passed by.
	w.rollBack()
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 10)))
}

func (w *world) wantNoGatesOfAttempt(attempt int64) {
	w.Helper()
	w.await(func(s *scene) error {
		for _, gate := range s.gates {
			if gate.Spec.Attempt == attempt {
				return fmt.Errorf("want no gates of attempt %d, have %s", attempt, gate.Name)
			}
		}
		return nil
	})
}
