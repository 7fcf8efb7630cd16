package journeys

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A StatefulSet and a DaemonSet wait while they are frozen, go through gates of every type, and let as many pods be missing
// as each batch says.
func TestInPlaceGatesOfEveryType(t *testing.T) {
	onBothKinds(t, func(w *world, p inPlace) {
		before := p.served(w, 8)
		r := p.to(w,
			missing(1, step(2, none())), step(3, soak(time.Second)), step(4, window("* * * * *")), step(5, manual()), missing(3, step("100%", none())))
		r.Annotations = map[string]string{v1alpha1.FreezeAnnotation: `{"reason":"quarter end"}`}
		w.create(r)
		w.await(all(suspended(v1alpha1.ReasonFrozen, "frozen: quarter end"), web.handedBack, web.serves("web:1", 8)))
		w.kubectl("annotate", "batchrelease", "web", v1alpha1.FreezeAnnotation+"-")
		w.await(all(web.blocksAt(3), p.shut, web.runs(pods{"web:1": 3, "web:2": 5})))
		w.wantGate(1, "soak", v1alpha1.DecisionPassed)
		w.wantGate(2, "window", v1alpha1.DecisionPassed)
		w.wantUntouched(before, all(web.completed, web.serves("web:2", 8)))
		w.wantStops("3 of 8", "4 of 8", "5 of 8")
	})
}

// Suspended in the middle of a batch, a release lets the pod that goes come back updated, and takes no other. What Git brings waits, a
// rollback does not. What was rolled back is in quarantine until another template comes.
func TestInPlaceSuspendedInBatch(t *testing.T) {
	onBothKinds(t, func(w *world, p inPlace) {
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

// An operator jumps over a gate, and back; updated pods stay, and gates are asked again. What comes meanwhile waits for its turn.
func TestInPlaceJumpsAndQueues(t *testing.T) {
	onBothKinds(t, func(w *world, p inPlace) {
		before := p.served(w, 6)
		r := p.to(w, step(1), step("50%"), step("100%", manual()))
		r.Spec.Strategy.Supersede = v1alpha1.SupersedeQueue
		w.create(r)
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 1})))
		w.jumpTo(1)
		w.await(all(jumped(0, 1, "nextStepIndex"), web.attempt(1), web.blocksAt(1), p.shut, web.runs(pods{"web:1": 3, "web:2": 3})))
		w.jumpTo(0)
		w.await(all(jumped(1, 0, "nextStepIndex"), web.attempt(2), web.blocksAt(0), p.shut, web.runs(pods{"web:1": 3, "web:2": 3})))
		w.wantNoGatesOfAttempt(1)
		p.next(w, "web:3")
		w.await(all(queued(true), web.attempt(2), web.blocksAt(0)))
		for index := range int32(3) {
			w.await(web.blocksAt(index))
			w.confirm("web")
		}
		w.await(all(web.attempt(3), web.blocksAt(0), queued(false), p.shut, web.runs(pods{"web:2": 5, "web:3": 1})))
		w.wantUntouched(before, all(web.completed, web.serves("web:3", 6)))
	})
}

// A jump back takes pods of a StatefulSet away where the strategy says so, but for the last step: once all pods are updated its native
// controller makes none of the version before (S5). A DaemonSet has no way to make one at all, and is refused.
func TestInPlaceJumpBackRemovesPods(t *testing.T) {
	onBothKinds(t, func(w *world, p inPlace) {
		before := p.served(w, 6)
		r := p.to(w, step(1), step("50%"), step("100%", manual()))
		r.Spec.Strategy.StepBack = v1alpha1.StepBackRemovePods
		if p.kind == "DaemonSet" {
			r.Namespace = w.namespace
			wantError(w.T, "create", w.Create(w.Context(), r), "stepBack")
			return
		}
		w.create(r)
		w.await(web.blocksAt(0))
		w.confirm("web")
		w.await(all(web.blocksAt(1), closed, places(from(0, 3, 6))))
		w.jumpTo(0)
		w.await(all(jumped(1, 0, "nextStepIndex"), web.attempt(2), web.blocksAt(0), closed, places(from(0, 5, 6))))
		w.jumpTo(2)
		w.await(all(jumped(0, 2, "nextStepIndex"), web.blocksAt(2), closed, places(from(0, 0, 6)), seenInPlace))
		w.jumpTo(1)
		w.await(all(jumped(2, 1, "nextStepIndex"), web.attempt(3), web.blocksAt(1), closed, places(from(0, 0, 6))))
		w.wantUntouched(before, all(web.completed, web.serves("web:2", 6)))
	})
}
