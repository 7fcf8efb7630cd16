package journeys

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// The traps D1 to D8 of DaemonSets that are held (rollout/mover/daemonset), by hand on the real
// native controller.

// holdNodesByHand deploys web:1 on nodes of the journey and holds it as Sluice does: OnDelete and
// web:2 in one write.
func (w *world) holdNodesByHand(n int) []node {
	w.Helper()
	w.judged = nil
	nodes := w.ownNodes(n)
	w.placed(w.daemonSet(), int32(n))
	w.patchDaemon(`{"updateStrategy":{"type":"OnDelete","rollingUpdate":null},` + webOf("web:2") + `}`)
	w.await(all(seenNatively, web.serves("web:1", int32(n))))
	return nodes
}

func webOf(image string) string {
	return fmt.Sprintf(`"template":{"spec":{"containers":[{"name":"web","image":%q}]}}`, image)
}

// patchDaemon changes the spec, and waits until the native controller has seen it.
func (w *world) patchDaemon(spec string) {
	w.Helper()
	w.edit(named[appsv1.DaemonSet]("web"), strategicPatch(`{"spec":`+spec+`}`), "kubectl-patch")
	w.catchUp()
	w.await(daemonIs("seen by the native controller", func(d *appsv1.DaemonSet) bool { return d.Status.ObservedGeneration == d.Generation }))
}

func daemonIs(what string, is func(*appsv1.DaemonSet) bool) check {
	return func(s *scene) error {
		if d := s.daemon(); d == nil || !is(d) {
			return fmt.Errorf("want the DaemonSet %s", what)
		}
		return nil
	}
}

// podOn returns the name of the pod on a node.
func (w *world) podOn(n node) string {
	w.Helper()
	for _, pod := range w.now().pods {
		if alive(pod) && pod.Spec.NodeName == string(n) {
			return pod.Name
		}
	}
	w.Fatalf("no pod on node %s", n)
	return ""
}

// setPhase ends a pod as its kubelet does.
func (w *world) setPhase(pod string, phase corev1.PodPhase) {
	w.Helper()
	w.kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(`{"status":{"phase":%q}}`, phase))
}

// TestTrapD1NewNodeIsUpdated: D1, a node that comes gets a pod of the template that there is.
func TestTrapD1NewNodeIsUpdated(t *testing.T) {
	w := newWorld(t)
	w.holdNodesByHand(2)
	w.addNode(2)
	w.await(all(web.runs(pods{"web:1": 2, "web:2": 1}), seenNatively))
}

// TestTrapD2RollingUpdateTakesWhatDoesNotServe: D2, with RollingUpdate, old pods that do not serve
// are deleted whatever maxUnavailable says.
func TestTrapD2RollingUpdateTakesWhatDoesNotServe(t *testing.T) {
	w := newWorld(t)
	w.judged = nil
	w.ownNodes(3)
	w.create(w.daemonSet(func(d *appsv1.DaemonSet) {
		d.Spec.Template = w.onEachOwnNode("web:1", behaving(controlplane.NeverReady))
	}))
	w.await(web.runs(pods{"web:1": 3}))
	w.patchDaemon(`{` + webOf("web:2") + `}`)
	w.await(web.runs(pods{"web:2": 3})) // none of which serves, with one that may be missing
}

// TestTrapD3WhatIsLostComesBackUpdated: D3 and D4, a pod that somebody deletes, or that fails,
// comes back updated.
func TestTrapD3WhatIsLostComesBackUpdated(t *testing.T) {
	w := newWorld(t)
	nodes := w.holdNodesByHand(3)
	w.kubectl("delete", "pod", w.podOn(nodes[0]), "--wait=false")
	w.await(all(nodes[0].has("web:2"), web.runs(pods{"web:1": 2, "web:2": 1}), seenNatively))
	w.setPhase(w.podOn(nodes[1]), corev1.PodFailed)
	w.await(all(nodes[1].has("web:2"), nodes[2].has("web:1"), web.runs(pods{"web:1": 1, "web:2": 2}), seenNatively))
}

// TestTrapD5OneAfterTheOther: D5, a pod comes back only when the one before it is gone.
func TestTrapD5OneAfterTheOther(t *testing.T) {
	w := newWorld(t)
	nodes := w.holdNodesByHand(2)
	hangs := w.podOn(nodes[0])
	w.kubectl("patch", "pod", hangs, "--type=merge", "-p", `{"metadata":{"finalizers":["journeys.sluice.dev/hangs"]}}`)
	w.kubectl("delete", "pod", hangs, w.podOn(nodes[1]), "--wait=false")
	w.await(all(nodes[0].has(), nodes[1].has("web:2")))
	w.kubectl("patch", "pod", hangs, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	w.await(all(nodes[0].has("web:2"), web.serves("web:2", 2)))
}

// TestTrapD6MisscheduledPodStays: D6, a pod on a node that is to have none any more runs on, and
// does not come back. The status says so after the next sync.
func TestTrapD6MisscheduledPodStays(t *testing.T) {
	w := newWorld(t)
	nodes := w.holdNodesByHand(2)
	w.kubectl("taint", "node", string(nodes[0]), "later=true:NoSchedule")
	w.kubectl("annotate", "daemonset", "web", "look=again") // a taint alone does not have it look
	w.await(all(nodes[0].has("web:1"), daemonIs("with a misscheduled pod", func(d *appsv1.DaemonSet) bool {
		return d.Status.DesiredNumberScheduled == 1 && d.Status.NumberMisscheduled == 1
	})))
	w.kubectl("delete", "pod", w.podOn(nodes[0]), "--wait=false")
	w.await(all(web.runs(pods{"web:1": 1}), daemonIs("without a misscheduled pod", func(d *appsv1.DaemonSet) bool {
		return d.Status.DesiredNumberScheduled == 1 && d.Status.NumberMisscheduled == 0
	})))
}

// TestTrapD7OnDeleteEndsASurge: D7, of two pods on a node, which maxSurge has made, OnDelete leaves
// the older one.
func TestTrapD7OnDeleteEndsASurge(t *testing.T) {
	w := newWorld(t)
	w.judged = nil
	w.ownNodes(2)
	w.placed(w.daemonSet(func(d *appsv1.DaemonSet) {
		d.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: share(0), MaxSurge: share(1)}
	}), 2)
	cptest.Eventually(t, soon, func() error { // the age of pods is in seconds
		for _, pod := range w.now().pods {
			if time.Since(pod.CreationTimestamp.Time) < 2*time.Second {
				return fmt.Errorf("want pod %s older", pod.Name)
			}
		}
		return nil
	})
	w.patchDaemon(fmt.Sprintf(`{"template":{"metadata":{"annotations":{%q:%q}},"spec":{"containers":[{"name":"web","image":"web:2"}]}}}`,
		controlplane.BehaviourAnnotation, controlplane.NeverReady))
	w.await(web.runs(pods{"web:1": 2, "web:2": 1}))
	w.patchDaemon(`{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}`)
	w.await(web.serves("web:1", 2))
}

// TestTrapD8AnOlderTemplateHasItsRevision: D8, a template that there was before has its old
// revision again, and its pods are those wanted at once.
func TestTrapD8AnOlderTemplateHasItsRevision(t *testing.T) {
	w := newWorld(t)
	w.holdNodesByHand(2)
	const revisions = 2
	before := w.await(func(s *scene) error {
		if len(s.history) != revisions {
			return fmt.Errorf("want %d revisions, got %d", revisions, len(s.history))
		}
		return nil
	})
	w.patchDaemon(`{` + webOf("web:1") + `}`)
	w.await(daemonIs("updated already", func(d *appsv1.DaemonSet) bool { return d.Status.UpdatedNumberScheduled == 2 }))
	after := w.await(func(s *scene) error { // the journal hears of revisions apart from the DaemonSet
		if newest := s.newest(s.daemon()); newest == before.newest(before.daemon()) {
			return fmt.Errorf("want the revision before the newest again, got %s", newest)
		}
		return nil
	})
	if got := len(after.history); got != revisions {
		t.Errorf("want no revision made, have %d of %d", got, revisions)
	}
}
