package journeys

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func (w *world) suspend(suspend bool) {
	w.Helper()
	w.patchRelease(fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend))
}

// suspended wants the release to stand, for a reason that says something.
func suspended(reason, says string) check {
	return all(web.observed, web.reason(reason), func(s *scene) error {
		release := s.releases["web"]
		for _, c := range release.Status.Conditions {
			if c.Type == v1alpha1.ConditionSuspended && c.Reason == reason && strings.Contains(c.Message, says) {
				return nil
			}
		}
		return fmt.Errorf("want condition Suspended, %s, with %q; have %+v", reason, says, release.Status.Conditions)
	})
}

// queued wants a template to wait, or none to.
func queued(is bool) check {
	return web.status(fmt.Sprintf("a template that waits: %t", is), func(s *v1alpha1.BatchReleaseStatus) bool { return (s.Queued != nil) == is })
}

// TestInPlaceSuspendedInBatch: a release suspended in the middle of a batch lets the terminating
// pod come back updated, and replaces no other. A template from Git waits, a rollback does not. A
// version that was rolled back stays in quarantine until another template comes.
func TestInPlaceSuspendedInBatch(t *testing.T) {
	onBothKinds(t, func(w *world, p workloadKind) {
		before := p.served(w, 6)
		letGo := w.hang("web:1")
		w.create(p.to(w, missing(1, step("50%")), step("100%")))
		w.await(going(1))
		w.suspend(true)
		w.await(suspended(v1alpha1.ReasonSuspended, "spec.suspend"))
		letGo()
		standing := all(suspended(v1alpha1.ReasonSuspended, "spec.suspend"), p.shut, allReadyInPlace, web.runs(pods{"web:1": 5, "web:2": 1}))
		w.await(standing)
		w.lookedAgain()
		w.await(standing)
		w.suspend(false)
		w.await(all(web.blocksAt(0), p.shut, web.runs(pods{"web:1": 3, "web:2": 3})))
		w.suspend(true)
		p.next(w, "web:3")
		w.await(all(suspended(v1alpha1.ReasonSuspended, "spec.suspend"), queued(true), web.runs(pods{"web:1": 3, "web:2": 3})))

		w.kubectl("annotate", "batchrelease", "web", "rollback=true")
		over := all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.quarantined, web.serves("web:1", 6))
		w.wantUntouched(before, over)
		w.suspend(false)
		w.kubectl("annotate", "batchrelease", "web", "retry=true")
		w.lookedAgain()
		w.wantUntouched(before, over)
		p.next(w, "web:4")
		w.wantUntouched(before, all(web.completed, web.serves("web:4", 6)))
	})
}
