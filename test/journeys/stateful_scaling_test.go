package journeys

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A pod that somebody deletes at a gate comes back in the version that it had.
func TestStatefulSetPodsDeletedByHand(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{parallel, oneByOne} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			s := statefulSet(6, managed(policy))
			w.placed(s, 6)
			w.create(toStateful(step("50%"), step("100%")))
			half := all(web.blocksAt(0), closed, places(from(0, 3, 6)))
			w.await(half)
			for _, name := range []string{"web-0", "web-2", "web-3", "web-5"} {
				w.replacedByHand(name, half)
			}
			w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
		})
	}
}

// Scaled at a gate, with the controller there and away, no pod is updated past the step.
func TestStatefulSetScaledAtGate(t *testing.T) {
	for _, there := range []bool{true, false} {
		t.Run(fmt.Sprintf("There=%t", there), func(t *testing.T) {
			w := newWorld(t)
			c := w.startController()
			s := statefulSet(6)
			w.placed(s, 6)
			w.create(toStateful(step("50%"), step("100%")))
			w.await(all(web.blocksAt(0), closed, places(from(0, 3, 6))))
			resize := func(n int, then pods) {
				if !there {
					c.kill()
				}
				w.resizeSet(n)
				if !there {
					w.await(all(seenInPlace, hasPods(n)))
					c = w.startController()
				}
				w.await(all(web.blocksAt(0), closed, seenInPlace, web.runs(then)))
			}
			resize(9, pods{"web:1": 5, "web:2": 4})
			resize(4, pods{"web:1": 2, "web:2": 2})
			resize(6, pods{"web:1": 3, "web:2": 3})
			w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
		})
	}
}

// hasPods wants so many pods of whatever version.
func hasPods(n int) check {
	return func(s *scene) error {
		if have := len(s.placed(s.workload("web"))); have != n || len(s.pods) != n {
			return fmt.Errorf("want %d pods, have %d", n, have)
		}
		return nil
	}
}

// Scaled to 0 at a gate and back, the pods that come are of the version before, and as many as were approved are updated.
func TestStatefulSetScaledToZeroAndBack(t *testing.T) {
	for _, there := range []bool{true, false} {
		t.Run(fmt.Sprintf("There=%t", there), func(t *testing.T) {
			w := newWorld(t)
			c := w.startController()
			s := statefulSet(6)
			w.placed(s, 6)
			w.create(toStateful(step("50%"), step("100%")))
			w.await(all(web.blocksAt(0), closed, places(from(0, 3, 6))))
			w.resizeSet(0)
			w.await(all(web.runs(pods{}), sizeSeen(0)))
			if !there {
				c.kill()
			}
			w.resizeSet(6)
			if !there {
				w.await(web.serves("web:1", 6))
				w.startController()
			}
			w.await(all(web.blocksAt(0), sizeSeen(6), closed, places(from(0, 3, 6))))
			w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
		})
	}
}

// An HPA scales up while the partition is open for a pod that takes its time to go: what comes of the new version beyond
// the step goes back.
func TestStatefulSetScaledInOpenWindow(t *testing.T) {
	w := newWorld(t)
	w.startController()
	s := statefulSet(6)
	w.placed(s, 6)
	w.kubectl("patch", "pod", "web-5", "--type=merge", "-p", `{"metadata":{"finalizers":["journeys.sluice.dev/hangs"]}}`)
	w.create(toStateful(step(1), step("100%")))
	w.await(func(s *scene) error {
		set := s.stateful()
		if set == nil || !held(set) || partition(set) != 5 || s.pod("web-5") != nil || set.Status.ObservedGeneration < set.Generation {
			return fmt.Errorf("want the StatefulSet open down to web-5, which goes")
		}
		return nil
	})
	_, err := w.tryKubectl(`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web"},"spec":{"replicas":9}}`,
		"apply", "--server-side", "--field-manager=hpa", "--force-conflicts", "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	w.await(func(s *scene) error {
		if len(s.pods) != 9 {
			return fmt.Errorf("want 9 pods, one of them going, have %d", len(s.pods))
		}
		return nil
	})
	w.kubectl("patch", "pod", "web-5", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	w.await(all(web.blocksAt(0), sizeSeen(9), closed, web.runs(pods{"web:1": 8, "web:2": 1}), seenInPlace))
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 9)))
}

// inOrdinalsBatch has a release with pods that take their time be in mid-batch.
func (w *world) inOrdinalsBatch(n int, change ...func(*appsv1.StatefulSet)) (*appsv1.StatefulSet, *controller) {
	w.Helper()
	c := w.startController()
	s := statefulSet(int32(n), change...)
	w.placed(s, int32(n))
	w.create(releaseTo("StatefulSet", podTemplate("web:2", delayed), step(1, none()), step("60%"), step("100%")))
	w.await(twoUpdated)
	return s, c
}

// twoUpdated wants two pods of web:2 or more.
func twoUpdated(s *scene) error {
	if n := s.podsOf(s.workload("web"))["web:2"]; n < 2 {
		return fmt.Errorf("want two pods of web:2, have %d", n)
	}
	return nil
}

// Scaled in mid-batch, and back, the release goes on with the pods there are.
func TestStatefulSetScaledInBatch(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{parallel, oneByOne} {
		for _, size := range []int{0, 1, 3, 5, 9} {
			t.Run(fmt.Sprintf("%s/%d", policy, size), func(t *testing.T) {
				w := newWorld(t)
				s, _ := w.inOrdinalsBatch(6, managed(policy))
				w.resizeSet(size)
				w.awaitConfirming(all(sizeSeen(int32(size)), either(web.completed, web.runs(pods{})), hasPods(size)))
				w.resizeSet(6)
				w.await(all(hasPods(6), seenInPlace))
				w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
			})
		}
	}
}

// So does a rollback.
func TestStatefulSetScaledInRollback(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{parallel, oneByOne} {
		for _, size := range []int{0, 1, 3, 5, 9} {
			t.Run(fmt.Sprintf("%s/%d", policy, size), func(t *testing.T) {
				w := newWorld(t)
				w.startController()
				s := statefulSet(6, managed(policy), func(s *appsv1.StatefulSet) { s.Spec.Template = podTemplate("web:1", delayed) })
				w.placed(s, 6)
				w.create(releaseTo("StatefulSet", podTemplate("web:2", delayed), step("60%"), step("100%")))
				w.await(all(web.blocksAt(0), closed))
				await := w.fromNow()
				w.rollBack()
				await(web.runs(pods{"web:1": 4, "web:2": 2}))
				w.resizeSet(size)
				w.awaitConfirming(all(sizeSeen(int32(size)), hasPods(size)))
				w.resizeSet(6)
				w.await(all(hasPods(6), seenInPlace))
				w.wantUntouched(s, all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 6)))
			})
		}
	}
}

// Scaled in mid-batch while no controller is there, up and down, as by an HPA: the next one finishes with the pods there are.
func TestStatefulSetScaledWithoutController(t *testing.T) {
	for _, sizes := range [][]int{{9, 4}, {2, 8}, {0, 6}, {4, 0, 5}} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			w := newWorld(t)
			s, c := w.inOrdinalsBatch(6)
			c.kill()
			for _, n := range sizes {
				w.resizeSet(n)
				w.await(all(askedFor(n), hasPods(n), seenInPlace))
			}
			w.startController()
			last := sizes[len(sizes)-1]
			w.wantUntouched(s, all(web.completed, web.serves("web:2", int32(last))))
		})
	}
}

// askedFor wants the StatefulSet to be scaled to a size.
func askedFor(n int) check {
	return func(s *scene) error {
		if want := wantedPods(s.workload("web")); int(want) != n {
			return fmt.Errorf("want spec.replicas %d, have %d", n, want)
		}
		return nil
	}
}
