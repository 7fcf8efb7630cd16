package journeys

import (
	"encoding/json"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// What somebody writes into the annotation of a workload, where no policy keeps them from it.

// forgeHold rewrites the annotation of the workload, and with it a part of its spec unless that is
// empty.
func (w *world) forgeHold(kind, spec string, change func(*plan.Hold)) {
	w.Helper()
	forged := plan.Hold{Release: "web"}
	if held := hold.Of(w.now().workload("web")); held != nil {
		forged = *held
	}
	change(&forged)
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.HoldAnnotation: string(encode(forged))}}}
	if spec != "" {
		patch["spec"] = json.RawMessage(spec)
	}
	w.kubectl("patch", kind, "web", "--type=merge", "-p", string(encode(patch)))
	w.catchUp()
}

// TestDaemonSetForeignForged: pods of a revision that the annotation calls foreign go first, and
// past pause points. Neither the stable one nor the released one is that, and of no revision do
// more pods go than the step says.
func TestDaemonSetForeignForged(t *testing.T) {
	w := newWorld(t)
	nodes := w.ownNodes(4)
	for i, zone := range []string{"a", "b", "c", "d"} {
		w.kubectl("label", "node", string(nodes[i]), "zone="+zone)
	}
	w.startController()
	d := w.daemonSet()
	w.placed(d, 4)
	first := w.hashOf("web:1")
	next := w.podOn(nodes[1])
	w.kubectl("annotate", "pod", next, v1alpha1.PausePointAnnotation+"=true")
	r := w.toDaemon(step(1), step("50%"), step("100%"))
	r.Spec.Strategy.Order = []v1alpha1.OrderKey{{NodeLabel: &v1alpha1.NodeLabelOrder{Key: "zone"}}}
	w.create(r)
	atGate := w.await(all(web.blocksAt(0), onDelete, nodes[0].has("web:2"), web.runs(pods{"web:1": 3, "web:2": 1}))).uids()

	last := w.podOn(nodes[3])
	w.kubectl("label", "pod", last, appsv1.ControllerRevisionHashLabelKey+"=forged", "--overwrite")
	for _, foreign := range []string{first, w.hashOf("web:2"), "forged"} {
		w.forgeHold("daemonset", "", func(h *plan.Hold) { h.Foreign = foreign })
		w.await(all(web.blocksAt(0), seenNatively))
		w.wantSamePods(atGate)
	}
	w.kubectl("label", "pod", last, appsv1.ControllerRevisionHashLabelKey+"="+first, "--overwrite")

	w.forgeHold("daemonset", "", func(h *plan.Hold) { h.Foreign = first })
	w.confirm("web")
	w.await(func(s *scene) error {
		if status := statusOf(s); status.PausePoint == nil || status.PausePoint.Pod != next {
			return fmt.Errorf("want the release to pause before %s, got %+v", next, status.PausePoint)
		}
		return nil
	})
	w.wantSamePods(atGate)
	w.kubectl("annotate", "pod", next, v1alpha1.PausePointAnnotation+"-")
	w.await(all(web.blocksAt(1), nodes[1].has("web:2"), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.wantUntouched(d, all(web.completed, web.serves("web:2", 4)))
}

// TestHoldForgedBeforeTheRelease: a workload forged to look held before its first release has
// nothing to roll back to. The status reports that, and the workload is handed back before the
// release is removed.
func TestHoldForgedBeforeTheRelease(t *testing.T) {
	for kind, c := range map[string]struct {
		secured string
		make    func(*world) (client.Object, *v1alpha1.BatchRelease)
	}{
		"StatefulSet": {
			`{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2147483647}}}`,
			func(*world) (client.Object, *v1alpha1.BatchRelease) {
				return statefulSet(4), toStateful(step("50%"), step("100%"))
			},
		},
		"DaemonSet": {
			`{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}`,
			func(w *world) (client.Object, *v1alpha1.BatchRelease) {
				w.ownNodes(4)
				return w.daemonSet(), w.toDaemon(step("50%"), step("100%"))
			},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			workload, r := c.make(w)
			w.judged = nil
			w.placed(workload, 4)
			w.forgeHold(kind, c.secured, func(*plan.Hold) {})
			w.await(seenNatively)
			w.startController()
			w.create(r)
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
			w.rollBack()
			w.awaitEvent(v1alpha1.ReasonRevisionNotFound, "")
			w.kubectl("delete", "batchrelease", "web")
			w.await(all(nothingOfOurs, web.handedBack, seenNatively))
		})
	}
}

// TestHoldForgedAtRest: a workload at rest that was given another template, and forged to look
// held for its release, gets the released template back.
func TestHoldForgedAtRest(t *testing.T) {
	w := newWorld(t)
	w.judged = nil
	w.ownNodes(3)
	w.startController()
	d := w.daemonSet()
	w.placed(d, 3)
	w.create(w.toDaemon(step("100%")))
	w.await(all(web.completed, web.serves("web:2", 3), seenNatively))
	w.forgeHold("daemonset", `{"updateStrategy":{"type":"OnDelete","rollingUpdate":null},`+webOf("web:9")+`}`,
		func(h *plan.Hold) { h.UID = w.now().releases["web"].UID })
	w.await(all(web.attempt(2), web.completed, web.serves("web:2", 3)))
}

// TestHoldWithStrategyThatIsNone: an update strategy in the annotation that no API server takes
// does not keep a workload held.
func TestHoldWithStrategyThatIsNone(t *testing.T) {
	for kind, strategy := range map[string]string{
		"StatefulSet": `{"type":"RollingUpdate","rollingUpdate":{"partition":-1}}`,
		"DaemonSet":   `{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":0,"maxSurge":0}}`,
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			workloadKinds()[kind].atHalf(w, 4)
			w.judged = nil
			w.forgeHold(kind, "", func(h *plan.Hold) { h.Strategy = strategy })
			w.awaitConfirming(all(web.completed, web.handedBack, web.serves("web:2", 4)))
		})
	}
}
