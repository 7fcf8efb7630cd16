package journeys

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Gates of type none cost no object, soak and window open by themselves, manual by a person.
func TestGatesOfEveryType(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(5))
	w.create(release("web:2",
		step(1, none()), step(2, soak(time.Second)), step(3, window("* * * * *")), step(4, manual()), step("100%", soak(time.Second))))
	w.await(all(web.blocksAt(3), web.runs(pods{"web:1": 1, "web:2": 4})))
	w.wantGate(1, "soak", v1alpha1.DecisionPassed)
	w.wantGate(2, "window", v1alpha1.DecisionPassed)
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 5)))
	w.wantStops("2 of 5", "3 of 5", "4 of 5", "5 of 5")
}

// All gates of a step must pass, and the status patch passes the manual one only.
func TestAllGatesOfStep(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(3))
	closed := fmt.Sprintf("0 0 1 %d *", (time.Now().Month()+5)%12+1)
	w.create(release("web:2", step(1, manual(), window(closed)), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 1})))
	w.confirm("web")
	w.wantGate(0, "manual", v1alpha1.DecisionPassed)
	w.wantGate(0, "window", v1alpha1.DecisionWaiting)
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 1})))
	w.patchRelease(`{"spec":{"strategy":{"steps":[{"replicas":1,"gates":[{"manual":{}}]},{"replicas":"100%"}]}}}`)
	w.await(all(web.completed, web.serves("web:2", 3)))
}

// A confirmation is for the gate that is named in the status, and never for one before it opens.
func TestConfirmedTooEarly(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(releaseOf(w.onOwnNodes(podTemplate("web:2", nil)), step(1), step("50%"), step("100%")))
	w.await(upgrading) // and so it stays: there is no such node yet
	w.confirm("web")   // nothing is waiting yet
	node := string(w.ownNodes(1)[0])
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.kubectl("cordon", node) // the next gate does not open until both have confirmed
	w.confirm("web")
	w.confirm("web") // nobody meant the next one
	w.kubectl("uncordon", node)
	w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 2, "web:2": 2})))
}

// Whoever confirms the moment a step blocks is heard, each time.
func TestConfirmedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10))
	var steps []v1alpha1.Step
	for n := range 10 {
		steps = append(steps, step(n+1))
	}
	w.create(release("web:2", append(steps, step("100%"))...))
	for n := range int32(10) {
		w.await(web.blocksAt(n))
		w.confirm("web")
	}
	w.await(all(web.completed, web.serves("web:2", 10)))
}

// A gate that somebody rejects holds the release and says so.
func TestGateRejected(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(3))
	w.create(release("web:2", step(1), step("100%")))
	gates := w.await(web.blocksAt(0)).releases["web"].Status.Gates
	w.kubectl("patch", "gate", gates[0].Name, "--type=merge", "--subresource=status", "-p",
		`{"status":{"decision":"Rejected","message":"too slow"}}`)
	s := w.await(web.reason(v1alpha1.ReasonGateRejected))
	if message := s.releases["web"].Status.Message; !strings.Contains(message, "too slow") {
		t.Errorf("the release does not say why the gate was rejected: %q", message)
	}
	w.rollBack()
	w.await(all(web.completed, web.serves("web:1", 3)))
}

// wantGate waits until the gate of a step has a decision and evidence for it.
func (w *world) wantGate(step int32, kind v1alpha1.GateType, decision v1alpha1.Decision) {
	w.Helper()
	w.await(func(s *scene) error {
		for _, gate := range s.gates {
			if gate.Spec.Step == step && gate.Spec.Type == kind && gate.Status.Decision == decision &&
				(decision != v1alpha1.DecisionPassed || len(gate.Status.Evidence) > 0) {
				return nil
			}
		}
		return fmt.Errorf("want gate %s of step %d: %s", kind, step, decision)
	})
}
