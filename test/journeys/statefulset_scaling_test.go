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

// twoUpdated wants two pods of web:2 or more.
func twoUpdated(s *scene) error {
	if n := s.podsOf(s.workload("web"))["web:2"]; n < 2 {
		return fmt.Errorf("want two pods of web:2, have %d", n)
	}
	return nil
}

// TestStatefulSetScaledAtGate: scaled at a gate without a controller, and to 0 and back, no more
// pods are updated than the step allows.
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
