package journeys

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestGatePassedWithoutPods: a gate passed without pods counts after a scale-up, which brings the pods of the current
// step. Without the gate in the journal, law I3 finds too many.
func TestGatePassedWithoutPods(t *testing.T) {
	steps := []v1alpha1.Step{step("10%"), step("50%"), step("100%")}
	for name, c := range map[string]struct {
		workload client.Object
		release  *v1alpha1.BatchRelease
	}{
		"Deployment":  {deployment(0, rolling(1, 0)), release("web:2", steps...)},
		"StatefulSet": {statefulSet(0), toStateful(steps...)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.create(c.workload)
			w.await(web.runs(pods{}))
			w.create(c.release)
			w.await(web.blocksAt(0))
			w.confirm("web")
			w.await(web.blocksAt(1))
			w.kubectl("scale", name, "web", "--replicas=4")
			w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 2, "web:2": 2}), allReady))
			w.wantBreachWithoutGates()
			w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
		})
	}
}

// wantBreachWithoutGates wants the law to tell of updated pods that no gate let through, had there been none.
func (w *world) wantBreachWithoutGates() {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatal(err)
	}
	var ungated []entry
	for _, e := range entries {
		if _, is := e.object.(*v1alpha1.Gate); !is {
			ungated = append(ungated, e)
		}
	}
	for _, broken := range examine(ungated, w.journal.lostSight(), string(web)).broken {
		if broken.law == withinStep {
			return
		}
	}
	w.Errorf("want %s broken where no gate was passed", withinStep)
}
