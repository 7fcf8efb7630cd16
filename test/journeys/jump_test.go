package journeys

import (
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// jumpTo asks for a step as an operator does.
func (w *world) jumpTo(index int) {
	w.Helper()
	w.kubectl("patch", "batchrelease", "web", "--type=merge", "--subresource=status", "-p", fmt.Sprintf(`{"status":{"nextStepIndex":%d}}`, index))
}

// jumped wants the last jump to be on record, and nothing to be asked any more.
func jumped(from, to int32, by string) check {
	return web.status(fmt.Sprintf("a jump from %d to %d by %s", from, to, by), func(s *v1alpha1.BatchReleaseStatus) bool {
		return s.NextStepIndex == nil && s.Jump != nil && s.Jump.From == from && s.Jump.To == to && s.Jump.By == by
	})
}

// TestJumpBackRemovesPods: where the strategy says so a jump back takes pods away, too, within the
// surge and with all that must serve; people are asked when it is done. So it does from the last
// step, where no pod of the version before may be left.
func TestJumpBackRemovesPods(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(6))
	back := release("web:2", step(1), step("50%"), step("100%", manual()))
	back.Spec.Strategy.StepBack = v1alpha1.StepBackRemovePods
	w.create(back)
	for index := range int32(2) {
		w.await(web.blocksAt(index))
		w.confirm("web")
	}
	w.await(all(web.blocksAt(2), web.runs(pods{"web:2": 6})))
	w.jumpTo(1)
	w.await(all(jumped(2, 1, "nextStepIndex"), web.attempt(2), web.blocksAt(1), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.jumpTo(0)
	w.await(all(jumped(1, 0, "nextStepIndex"), web.attempt(3), web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 1})))
	w.wantStops("1 of 6", "3 of 6", "6 of 6", "3 of 6", "1 of 6")
	w.jumpTo(2)
	w.await(all(web.attempt(3), web.blocksAt(2)))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 6)))
}

// TestJumpsAndQueues: an operator jumps over a gate, and back. Updated pods stay, and gates are
// asked again. With supersede: Queue only the newest template that comes meanwhile is released,
// after its turn has come.
func TestJumpsAndQueues(t *testing.T) {
	onEachKind(t, func(w *world, p workloadKind) {
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
		for _, image := range []string{"web:7", "web:3"} {
			p.next(w, image)
			w.await(all(web.observed, queued(true), web.attempt(2), web.blocksAt(0)))
		}
		for index := range int32(3) {
			w.await(web.blocksAt(index))
			w.confirm("web")
		}
		w.await(all(web.attempt(3), web.blocksAt(0), queued(false), p.shut, web.runs(pods{"web:2": 5, "web:3": 1})))
		w.wantUntouched(before, all(web.completed, web.serves("web:3", 6)))
	})
}
