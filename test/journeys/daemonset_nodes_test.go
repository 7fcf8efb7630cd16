package journeys

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// inBatch has a release of web:2 with pods that take their time be in the middle of its second
// batch, of six nodes.
func (w *world) inBatch() []node {
	w.Helper()
	nodes := w.ownNodes(6)
	w.startController()
	w.placed(w.daemonSet(), 6)
	w.create(releaseTo("DaemonSet", w.onEachOwnNode("web:2", delayed), step(1, none()), step("100%")))
	w.await(twoUpdated)
	return nodes
}

// TestDaemonSetNodesTainted: a node that its pods are driven from, in mid-batch, is one less. One
// that takes no new ones keeps its pod until that is replaced.
func TestDaemonSetNodesTainted(t *testing.T) {
	for effect, done := range map[string]check{"NoExecute": web.serves("web:2", 4), "NoSchedule": noPodOf("web:1")} {
		t.Run(effect, func(t *testing.T) {
			w := newWorld(t)
			nodes := w.inBatch()
			for _, n := range []node{nodes[0], nodes[5]} {
				w.kubectl("taint", "node", string(n), "away=true:"+effect)
			}
			w.awaitConfirming(all(web.completed, done, seenNatively))
		})
	}
}

// TestDaemonSetPodsLostAfterTheirCount: pods go, by somebody else's doing, after they were counted
// and before those of a batch are deleted: the release goes on. The pods of the first batch are
// those with which the watch of pods begins, and those of the second were listed.
func TestDaemonSetPodsLostAfterTheirCount(t *testing.T) {
	for name, batch := range map[string]int{"FirstBatch": 1, "SecondBatch": 2} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ownNodes(6)
			inBatch := nth(batch, before, http.MethodDelete, "pods")
			var deletes sync.Mutex // several are sent at once
			w.startControllerUntil(func(request *http.Request) moment {
				deletes.Lock()
				defer deletes.Unlock()
				if inBatch(request) == before {
					w.losePods(2)
				}
				return goOn
			})
			w.placed(w.daemonSet(), 6)
			w.create(releaseTo("DaemonSet", w.onEachOwnNode("web:2", delayed), step(1, none()), step("100%")))
			w.awaitConfirming(all(web.completed, web.serves("web:2", 6)))
		})
	}
}

// losePods deletes pods that are not going away yet.
func (w *world) losePods(n int) {
	for _, pod := range w.now().pods {
		if n > 0 && alive(pod) {
			n--
			if err := w.Delete(w.Context(), pod); client.IgnoreNotFound(err) != nil {
				w.Errorf("delete pod: %v", err)
			}
		}
	}
}

// TestDaemonSetTemplateNamesOtherNodes: a template that names other nodes moves pods at the
// take-over. Preflight warns before, and pods that are gone do not count as updated.
func TestDaemonSetTemplateNamesOtherNodes(t *testing.T) {
	const tier = "tier"
	for name, wider := range map[string]bool{"Narrower": false, "Wider": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.excuses() // the native controller deletes the pods of nodes that the template leaves
			w.excuse.races = []law{enoughRun, oldStays}
			for _, n := range w.ownNodes(6)[:3] {
				w.kubectl("label", "node", string(n), tier+"=a")
			}
			w.startController()
			was, template := w.daemonSet(), w.onEachOwnNode("web:2", nil)
			pod, places := &template.Spec, int32(6)
			if wider {
				pod, places = &was.Spec.Template.Spec, 3
			}
			pod.NodeSelector[tier] = "a"
			w.placed(was, places)
			w.create(releaseTo("DaemonSet", template, step(1), step("50%"), step("100%")))
			w.await(all(web.takenOver, web.preflight(metav1.ConditionFalse, v1alpha1.ReasonWarnings, "the new template names other nodes")))
			w.awaitEvent(v1alpha1.ReasonWarnings, "the new template names other nodes")
			if wider {
				w.await(all(web.blocksAt(0), web.condition(v1alpha1.ConditionBeyondStep, v1alpha1.ReasonCameUpdated, "3 of 6 pods")))
				return
			}
			w.await(all(web.blocksAt(0), sizeSeen(3), web.runs(pods{"web:1": 2, "web:2": 1})))
			w.awaitConfirming(all(web.completed, web.serves("web:2", 3)))
			for _, line := range w.logged(v1alpha1.ReasonCompleted, strings.NewReplacer()) {
				if strings.Contains(line, v1alpha1.ReasonCameUpdated) {
					t.Errorf("pods that have gone count as updated: %s", line)
				}
			}
		})
	}
}
