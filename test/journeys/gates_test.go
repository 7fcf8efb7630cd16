package journeys

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestConfirmedTooEarly: a confirmation is for the gate that is named in the status, and never for
// one before it opens.
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

// TestGatesOfEveryType: a release waits until its freeze ends by itself, and goes through gates of
// every type. In place, as many pods may be missing as each batch says.
func TestGatesOfEveryType(t *testing.T) {
	onEachKind(t, func(w *world, p workloadKind) {
		before := p.served(w, 8)
		first, last := step(2, none()), step("100%", none())
		if p.kind != "Deployment" {
			first, last = missing(1, first), missing(3, last)
		}
		r := p.to(w, first, step(3, soak(time.Second)), step(4, window("* * * * *"), soak(time.Second)), step(5, manual()), last)
		frozenFor := func(d time.Duration) (end, annotation string) {
			end = time.Now().Add(d).UTC().Format(time.RFC3339)
			return end, fmt.Sprintf(`{"reason":"quarter end","until":%q}`, end)
		}
		end, frozen := frozenFor(time.Hour)
		r.Annotations = map[string]string{v1alpha1.FreezeAnnotation: frozen}
		w.create(r)
		w.await(all(suspended(v1alpha1.ReasonFrozen, "frozen until "+end+": quarter end"), web.handedBack, web.serves("web:1", 8)))
		_, frozen = frozenFor(2 * time.Second)
		w.kubectl("annotate", "--overwrite", "batchrelease", "web", v1alpha1.FreezeAnnotation+"="+frozen)
		w.await(all(web.blocksAt(3), p.shut, web.runs(pods{"web:1": 3, "web:2": 5})))
		w.wantGate(1, "soak", v1alpha1.DecisionPassed)
		w.wantGate(2, "window", v1alpha1.DecisionPassed)
		w.wantUntouched(before, all(web.completed, web.serves("web:2", 8)))
		w.wantStops("3 of 8", "4 of 8", "5 of 8")
	})
}
