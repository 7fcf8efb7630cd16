package journeys

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestStatefulSetInBatches: a StatefulSet is released from its highest ordinal down, gate by gate,
// and is as it was in the end: its pods are not replaced again. So it is however the native
// controller makes pods.
func TestStatefulSetInBatches(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{parallel, oneByOne} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			s := statefulSet(6, managed(policy))
			w.placed(s, 6)
			w.create(toStateful(step(1), step("50%"), step("100%")))
			w.await(all(web.blocksAt(0), closed, places(from(0, 5, 6))))
			w.confirm("web")
			w.await(all(web.blocksAt(1), closed, places(from(0, 3, 6))))
			w.confirm("web")
			w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
		})
	}
}

// TestStatefulSetGetsItsStrategyBack: the user's own OnDelete, and the user's own partition, come
// back.
func TestStatefulSetGetsItsStrategyBack(t *testing.T) {
	cases := map[string]appsv1.StatefulSetUpdateStrategy{
		"OnDelete": {Type: appsv1.OnDeleteStatefulSetStrategyType},
		"Partition": {
			Type:          appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(3))},
		},
	}
	for name, strategy := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			s := statefulSet(4, func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy = strategy })
			w.placed(s, 4)
			w.create(toStateful(step("50%"), step("100%")))
			w.await(all(web.blocksAt(0), closed, places(from(0, 2, 4))))
			w.wantUntouched(s, all(web.completed, web.serves("web:2", 4)))
		})
	}
}

// TestStatefulSetUpdatedByHandBefore: S10, with OnDelete the current revision stays the
// StatefulSet's first one, however its pods were updated by hand. Lost pods of a batch still come
// back in the version that ran before the release.
func TestStatefulSetUpdatedByHandBefore(t *testing.T) {
	w := newWorld(t)
	w.startController()
	s := statefulSet(4, managed(parallel), func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		s.Spec.Template.Spec.Containers[0].Image = "web:0"
	})
	w.placed(s, 4)
	w.kubectl("set", "image", "statefulset/web", "*=web:1")
	w.kubectl("delete", "pod", "web-0", "web-1", "web-2", "web-3")
	w.await(all(places(from(0, 4, 4)), seenNatively))
	w.create(toStateful(step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), closed, places(from(0, 2, 4))))
	w.replacedByHand("web-0", all(closed, places(from(0, 2, 4))))
	w.rollBack()
	w.await(all(web.completed, web.serves("web:1", 4)))
}

// TestStatefulSetAdoptedOnTheWay: a StatefulSet with a partition has a template that not all of its
// pods run. The release waits for them, says what for, and has nothing to roll back to.
func TestStatefulSetAdoptedOnTheWay(t *testing.T) {
	w := newWorld(t)
	w.startController()
	s := statefulSet(3, func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
			Type:          appsv1.RollingUpdateStatefulSetStrategyType,
			RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))},
		}
	})
	w.placed(s, 3)
	w.kubectl("set", "image", "statefulset/web", "*=web:2")
	w.await(web.runs(pods{"web:1": 2, "web:2": 1}))
	w.create(toStateful(step(1), step("100%")))
	w.await(all(web.reason(v1alpha1.ReasonNativeRollout), web.says("the StatefulSet has partition 2, and 1 of 3 pods run")))
	w.rollBack()
	w.awaitEvent(v1alpha1.ReasonRevisionNotFound, "there is no stable template to go back to")
	w.kubectl("patch", "statefulset", "web", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
	w.await(all(web.completed, web.serves("web:2", 3)))
}
