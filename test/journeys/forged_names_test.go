package journeys

import (
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// ControllerRevisions of a workload whose names, or labels, are not what the native controller
// would give them. It goes by them all the same.

// forgeNext makes a ControllerRevision of web:2 under a name and with a hash of somebody's choice,
// before web:2 is released.
func (w *world) forgeNext(patch func(spec string), name, hash string) {
	w.Helper()
	patch(`{` + webOf("web:2") + `}`)
	next := w.nativeRevision("web:2")
	patch(`{` + webOf("web:1") + `}`)
	w.kubectl("delete", "controllerrevision", next.Name)
	w.forge(next, name, hash, 7)
}

// manualDaemon returns a DaemonSet whose pods nobody but people replaces, with three pods.
func (w *world) manualDaemon() *appsv1.DaemonSet {
	w.Helper()
	w.judged = nil
	w.ownNodes(3)
	d := w.daemonSet(func(d *appsv1.DaemonSet) {
		d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	})
	w.placed(d, 3)
	return d
}

// hashOf returns the hash of the native controller's ControllerRevision of an image, which pods
// have as a label.
func (w *world) hashOf(image string) string {
	w.Helper()
	for _, pod := range w.now().pods {
		if alive(pod) && pod.Spec.Containers[0].Image == image {
			return pod.Labels[appsv1.ControllerRevisionHashLabelKey]
		}
	}
	w.Fatalf("no pod of %s", image)
	return ""
}

// failsSoon has a release fail soon.
func failsSoon(r *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	r.Spec.Strategy.ProgressDeadlineSeconds = new(int32(3))
	return r
}

// TestDaemonSetRevisionNamedAsTheOneBefore: the next template is given the label that the pods have
// already: none of them counts as updated, and the release says why it does not go on. Once the
// forgery is gone it does.
func TestDaemonSetRevisionNamedAsTheOneBefore(t *testing.T) {
	w := newWorld(t)
	d := w.manualDaemon()
	w.forgeNext(w.patchDaemon, "zz-forged", w.hashOf("web:1"))
	before := w.now().uids()
	w.startController()
	w.create(failsSoon(w.toDaemon(step(1), step("100%"))))
	w.await(all(web.phase(v1alpha1.PhaseFailed), web.says("ControllerRevision"), noneUpdated))
	w.wantSamePods(before)
	w.kubectl("delete", "controllerrevision", "zz-forged")
	w.kubectl("annotate", "daemonset", "web", "look=again")
	w.bePatient()
	w.annotateRelease(v1alpha1.RetryAnnotation, "true")
	w.await(all(web.blocksAt(0), onDelete, web.runs(pods{"web:1": 2, "web:2": 1})))
	w.wantUntouched(d, all(web.completed, web.serves("web:2", 3)))
}

// noneUpdated wants the release to count no updated pod.
func noneUpdated(s *scene) error {
	if n := statusOf(s).UpdatedReplicas; n != 0 {
		return fmt.Errorf("want no updated pod, the status has %d", n)
	}
	return nil
}

// TestStatefulSetRevisionNamedAsTheOneBefore: the next template is given a ControllerRevision whose
// name is the hash of the one that the pods run: it is another revision all the same.
func TestStatefulSetRevisionNamedAsTheOneBefore(t *testing.T) {
	w := newWorld(t)
	w.judged = nil
	s := statefulSet(4, func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	})
	w.placed(s, 4)
	hash := w.hashOf("web:1")[len("web-"):]
	w.forgeNext(w.patchOrdinals, hash, "x")
	w.startController()
	w.create(toStateful(step(1), step("100%")))
	w.await(all(web.blocksAt(0), closed, places(from(0, 3, 4)), func(s *scene) error {
		if n := statusOf(s).UpdatedReplicas; n != 1 {
			return fmt.Errorf("want one updated pod in the status, have %d", n)
		}
		return nil
	}))
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 4)))
}

// TestGateOfAnotherRelease: gates of another release are left alone where a hash gives them the
// same names.
func TestGateOfAnotherRelease(t *testing.T) {
	w := newWorld(t)
	w.startController()
	other := deployment(2)
	other.Name = "web-b"
	other.Spec.Selector.MatchLabels = map[string]string{"app": "other"}
	other.Spec.Template.Labels = map[string]string{"app": "other"}
	w.create(other)
	r := release("web:2", step(1), step("100%"))
	template := podTemplate("web:2", nil)
	template.Labels = map[string]string{"app": "other"}
	r.Name, r.Spec.WorkloadRef.Name, r.Spec.Template.Raw = "web-b", "web-b", encode(template)
	w.create(r)
	var gate *v1alpha1.Gate
	w.await(all(subject("web-b").blocksAt(0), func(s *scene) error {
		if gate = s.gates[s.releases["web-b"].Status.Gates[0].Name]; gate == nil {
			return errors.New("want the gate of web-b")
		}
		return nil
	}))
	w.manualDaemon()
	w.forgeNext(w.patchDaemon, "zz-forged", "b-"+gate.Spec.Revision)
	w.create(w.toDaemon(step(1), step("100%")))
	w.await(stalls("web", string(v1alpha1.StallWriteRefused), "belongs to BatchRelease web-b"))
	var now v1alpha1.Gate
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(gate), &now); err != nil || now.UID != gate.UID || now.DeletionTimestamp != nil {
		t.Errorf("want the gate of the other release left alone, got %s: %v", now.UID, err)
	}
}

// TestStatefulSetCurrentRevisionDeleted: after the ControllerRevision of the stable version is
// deleted at a gate, lost pods come back updated, which is reported. The release can still be
// rolled back.
func TestStatefulSetCurrentRevisionDeleted(t *testing.T) {
	w := newWorld(t)
	w.halfOfOrdinals(4)
	w.judged = nil // more run the new version than was approved
	w.kubectl("delete", "controllerrevision", w.nativeRevision("web:1").Name)
	w.kubectl("annotate", "statefulset", "web", "look=again")
	w.await(ordinalsAre("of one revision", func(s *appsv1.StatefulSet) bool { return s.Status.CurrentRevision == s.Status.UpdateRevision }))
	w.replacedByHand("web-0", all(web.blocksAt(0), web.runs(pods{"web:1": 1, "web:2": 3}),
		web.condition(v1alpha1.ConditionBeyondStep, v1alpha1.ReasonCameUpdated, "3 of 4 pods")))
	w.rollBack()
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4)))
}

// TestDaemonSetPodsLabelledAsTheOneBefore: at a gate somebody makes another ControllerRevision of
// the released template, newer than that of the native controller, with the label of the version
// before, which the native controller gives all pods then. No pod is replaced while nobody can tell
// them apart, and that is said.
func TestDaemonSetPodsLabelledAsTheOneBefore(t *testing.T) {
	w := newWorld(t)
	w.judged = nil
	w.ownNodes(3)
	w.startController()
	d := w.daemonSet()
	w.placed(d, 3)
	w.create(w.toDaemon(step(1), step("100%")))
	before := w.await(all(web.blocksAt(0), onDelete, web.runs(pods{"web:1": 2, "web:2": 1}))).uids()
	w.forge(w.nativeRevision("web:2"), "web-forged", w.hashOf("web:1"), 99)
	w.kubectl("annotate", "daemonset", "web", "look=again")
	w.await(func(s *scene) error {
		for _, pod := range s.pods {
			if alive(pod) && pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != w.hashOf("web:1") {
				return fmt.Errorf("want pod %s labelled anew", pod.Name)
			}
		}
		return nil
	})
	const why = "ControllerRevision web-forged has the template"
	w.await(all(web.blocksAt(0), web.condition(v1alpha1.ConditionReplicaFailure, v1alpha1.ReasonFailedDelete, why)))
	w.confirm("web")
	w.wantSamePods(before)
	w.kubectl("delete", "controllerrevision", "web-forged")
	w.kubectl("annotate", "daemonset", "web", "look=again", "--overwrite")
	w.wantUntouched(d, all(web.completed, web.serves("web:2", 3), web.withoutCondition(v1alpha1.ConditionReplicaFailure)))
}

// TestStatefulSetOrdinalsMovedThereAndBack: the ordinals are moved so that only updated pods are
// left, and back. Unless Sluice is faster, the native controller updates all others too (S5),
// which is reported.
func TestStatefulSetOrdinalsMovedThereAndBack(t *testing.T) {
	for _, runs := range []bool{true, false} {
		t.Run(fmt.Sprintf("ControllerRuns=%t", runs), func(t *testing.T) {
			w := newWorld(t)
			w.judged = nil
			c := w.startController()
			w.placed(statefulSet(6), 6)
			w.create(toStateful(step("50%"), step("100%")))
			w.await(all(web.blocksAt(0), closed, places(from(0, 3, 6)), seenNatively))
			if !runs {
				c.kill()
			}
			w.patchOrdinals(`{"replicas":3,"ordinals":{"start":3}}`)
			w.await(all(hasPods(3), seenNatively))
			w.patchOrdinals(`{"replicas":6,"ordinals":{"start":0}}`)
			w.await(all(hasPods(6), seenNatively))
			if !runs {
				w.startController()
			}
			w.await(all(web.blocksAt(0), sizeSeen(6), seenNatively, func(s *scene) error {
				if n := w.now().podsOf(s.workload("web"))["web:2"]; n <= 3 {
					return nil
				}
				return web.condition(v1alpha1.ConditionBeyondStep, v1alpha1.ReasonCameUpdated, "of 6 pods")(s)
			}))
			t.Logf("%v", w.now().podsOf(w.now().workload("web")))
		})
	}
}

// TestDaemonSetRevisionThatIsNoName: the release reports a hash that no name can have. The native
// controller makes none.
func TestDaemonSetRevisionThatIsNoName(t *testing.T) {
	w := newWorld(t)
	w.manualDaemon()
	w.forgeNext(w.patchDaemon, "zz-forged", "Evil_1.x")
	w.startController()
	w.create(failsSoon(w.toDaemon(step(1), step("100%"))))
	w.await(all(web.phase(v1alpha1.PhaseFailed), web.says("ControllerRevision zz-forged"), noneUpdated))
}
