package journeys

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// askedBack has a rollback ask at half of the pods.
func askedBack(r *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	r.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: []v1alpha1.Step{step("50%", manual()), step("100%")}}
	return r
}

// A fix that is given while a StatefulSet is rolled back begins once no pod of the bad version is left, and its lost pods come back in the
// good one: below the partition they would come back in the bad one before.
func TestStatefulSetFixInARollback(t *testing.T) {
	w := newWorld(t)
	w.startController()
	s := statefulSet(4)
	w.placed(s, 4)
	w.create(askedBack(toStateful(step(2), step("100%"))))
	w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
	w.rollBack()
	w.await(all(web.phase(v1alpha1.PhaseRollingBack), web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.releaseImage("web:3")
	w.await(all(web.phase(v1alpha1.PhaseRollingBack), queued(true), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.confirm("web")
	w.await(all(web.attempt(3), web.blocksAt(0), closed, web.runs(pods{"web:1": 2, "web:3": 2})))
	w.resizeSet(7)
	w.await(web.runs(pods{"web:1": 5, "web:3": 2}))
	w.kubectl("delete", "pod", "web-1", "web-6", "--wait=false")
	w.await(web.runs(pods{"web:1": 5, "web:3": 2}))
	w.awaitConfirming(all(web.completed, web.serves("web:3", 7)))
}

// Pods of a StatefulSet that are drained while it is rolled back in several passes, and a fix waits, end in the good version.
func TestStatefulSetFixOnTheWayBack(t *testing.T) {
	w := newWorld(t)
	w.excuses()
	w.excuse.races = []law{enoughRun} // pods are deleted by hand while others are replaced
	w.startController()
	w.placed(statefulSet(8, func(s *appsv1.StatefulSet) { s.Spec.Template = podTemplate("web:1", slow) }), 8)
	w.create(releaseTo("StatefulSet", podTemplate("web:2", nil), step(1, none()), step("100%", none())))
	w.await(all(web.completed, web.serves("web:2", 8)))
	w.patchRelease(`{"spec":{"strategy":{"maxUnavailable":1,"steps":[{"replicas":1},{"replicas":"100%"}]}}}`)
	w.rollBack()
	w.await(web.runs(pods{"web:1": 4, "web:2": 4}))
	w.releaseImage("web:3")
	w.await(all(web.phase(v1alpha1.PhaseRollingBack), queued(true)))
	w.kubectl("delete", "pod", "web-6", "web-5", "--wait=false")
	w.await(all(web.attempt(3), web.blocksAt(0), web.runs(pods{"web:1": 7, "web:3": 1})))
	w.kubectl("delete", "pod", "web-6", "web-5", "--wait=false")
	w.await(web.runs(pods{"web:1": 7, "web:3": 1}))
	w.awaitConfirming(all(web.completed, web.serves("web:3", 8)))
}

// A fix that is given while a DaemonSet is rolled back replaces the bad pods first, and people read that some serve until then.
func TestDaemonSetFixInARollback(t *testing.T) {
	w := newWorld(t)
	w.ownNodes(4)
	w.startController()
	d := w.daemonSet()
	w.placed(d, 4)
	w.create(askedBack(w.toDaemon(step(1), step("50%"), step("100%"))))
	w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
	w.rollBack()
	w.await(all(web.phase(v1alpha1.PhaseRollingBack), web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.release(w.onEachOwnNode("web:3", nil))
	w.await(all(web.attempt(3), web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 1, "web:3": 1}),
		web.condition(v1alpha1.ConditionRolledBackServes, v1alpha1.ReasonRolledBackPods, "1 of 4 pods")))
	w.awaitEvent(v1alpha1.ReasonRolledBackPods, "was rolled back")
	w.confirm("web")
	w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 2, "web:3": 2}), web.withoutCondition(v1alpha1.ConditionRolledBackServes)))
	w.awaitConfirming(all(web.completed, web.serves("web:3", 4)))
}
