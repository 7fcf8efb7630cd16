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

// An operator jumps over manual gates to a later step, whose own gate is asked.
func TestJumpForward(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10))
	w.create(release("web:2", step(1), step("30%"), step("60%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 9, "web:2": 1})))
	w.jumpTo(2)
	w.await(all(jumped(0, 2, "nextStepIndex"), web.attempt(1), web.blocksAt(2), web.runs(pods{"web:1": 4, "web:2": 6})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 10)))
}

// Gates that nobody may confirm by hand are not jumped over.
func TestJumpStopsAtOtherGates(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	closed := window("0 0 1 1 *")
	w.create(release("web:2", step(1), step(2, manual(), closed), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.jumpTo(2)
	s := w.await(all(jumped(0, 2, "nextStepIndex"), web.blocksAt(1), web.runs(pods{"web:1": 2, "web:2": 2})))
	if gates := s.releases["web"].Status.Gates; len(gates) != 1 || gates[0].Type != v1alpha1.GateWindow {
		t.Errorf("want the window alone to be asked, have %+v", gates)
	}
}

// A gate of any type that says so is jumped over, open as it may be.
func TestJumpOverSkippableGate(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	closed := window("0 0 1 1 *")
	closed.Skippable = true
	w.create(release("web:2", step(1, closed), step(2), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.jumpTo(1)
	w.await(all(jumped(0, 1, "nextStepIndex"), web.blocksAt(1), web.runs(pods{"web:1": 2, "web:2": 2})))
}

// Back, no pod is removed, and gates that had passed are asked again.
func TestJumpBack(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(6))
	w.create(release("web:2", step(1), step("50%"), step("100%")))
	w.await(web.blocksAt(0))
	w.confirm("web")
	w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.jumpTo(0)
	w.await(all(jumped(1, 0, "nextStepIndex"), web.attempt(2), web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.wantNoGatesOfAttempt(1)
	w.confirm("web")
	w.await(all(web.attempt(2), web.blocksAt(1), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 6)))
}

// Where the strategy says so a jump back takes pods away, too, within the surge and with all that must serve; people
// are asked when it is done. So it does from the last step, where no pod of the version before may be left.
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

// Git asks once for each change; what is invalid is refused and forgotten.
func TestJumpByGitAndRefused(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(release("web:2", step(1), step("50%"), step("100%")))
	w.await(web.blocksAt(0))
	w.jumpTo(7)
	w.await(all(jumped(0, 7, "nextStepIndex"), web.attempt(1), web.blocksAt(0)))
	w.patchRelease(`{"spec":{"releaseTo":1}}`)
	w.await(all(web.observed, jumped(0, 1, "releaseTo"), web.blocksAt(1), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4)))
	w.jumpTo(0)
	w.await(all(jumped(2, 0, "nextStepIndex"), web.completed, web.serves("web:2", 4)))
	w.releaseImage("web:3") // which spec.releaseTo has nothing to say about any more
	w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 3, "web:3": 1})))
}
