package journeys

import (
	"fmt"
	"testing"
)

// hasPods wants so many pods of whatever version.
func hasPods(n int) check {
	return func(s *scene) error {
		if have := len(s.placed(s.workload("web"))); have != n || len(s.pods) != n {
			return fmt.Errorf("want %d pods, have %d", n, have)
		}
		return nil
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
	w.await(all(web.blocksAt(0), sizeSeen(9), closed, web.runs(pods{"web:1": 8, "web:2": 1}), seenNatively))
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 9)))
}

// twoUpdated wants two pods of web:2 or more.
func twoUpdated(s *scene) error {
	if n := s.podsOf(s.workload("web"))["web:2"]; n < 2 {
		return fmt.Errorf("want two pods of web:2, have %d", n)
	}
	return nil
}

// TestStatefulSetPodsDeletedByHand: a pod that somebody deletes at a gate comes back in the version that it had.
func TestStatefulSetPodsDeletedByHand(t *testing.T) {
	w := newWorld(t)
	s := w.halfOfOrdinals(6, managed(oneByOne))
	for _, name := range []string{"web-0", "web-2", "web-3", "web-5"} {
		w.replacedByHand(name, all(web.blocksAt(0), closed, places(from(0, 3, 6))))
	}
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
}

// TestStatefulSetScaledAtGate: scaled at a gate without a controller, and to 0 and back, no more pods are
// updated than the step allows.
func TestStatefulSetScaledAtGate(t *testing.T) {
	w := newWorld(t)
	s := w.halfOfOrdinals(6)
	for _, to := range []struct {
		size int
		then pods
	}{
		{9, pods{"web:1": 5, "web:2": 4}}, {4, pods{"web:1": 2, "web:2": 2}}, {0, pods{}}, {6, pods{"web:1": 3, "web:2": 3}},
	} {
		w.controllers[len(w.controllers)-1].kill()
		w.resizeSet(to.size)
		w.await(all(seenNatively, hasPods(to.size)))
		w.startController()
		w.await(all(sizeSeen(int32(to.size)), closed, seenNatively, web.runs(to.then)))
	}
	w.await(web.blocksAt(0))
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
}
