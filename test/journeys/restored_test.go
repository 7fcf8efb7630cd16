package journeys

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestDeletedWorkloadComesBackAsApproved: a workload that somebody deletes is created in the
// version that was approved last, and the release asks its gates again.
func TestDeletedWorkloadComesBackAsApproved(t *testing.T) {
	onEachKind(t, func(world *world, p workloadKind) {
		w := p.onForge(world, step(2), step("100%"))
		w.startWithForge(time.Second)
		deleted := func(cascade string) (another check) {
			before := w.now().workload("web").GetUID()
			w.kubectl("delete", strings.ToLower(p.kind), "web", "--cascade="+cascade)
			return anotherOf(before)
		}
		none := web.neverRuns("web:2", 3)

		w.push("web:2")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 8, "web:2": 2})))
		for _, cascade := range []string{"background", "orphan"} {
			attempt := w.now().releases["web"].Status.Attempt
			w.awaitUnless(all(deleted(cascade), web.attempt(attempt+1), web.blocksAt(0), web.runs(pods{"web:1": 8, "web:2": 2})), none)
		}

		w.rollBack()
		w.await(all(web.completed, web.quarantined, web.serves("web:1", 10)))
		w.awaitUnless(all(deleted("background"), web.quarantined, web.serves("web:1", 10)), web.neverRuns("web:2", 1))

		w.push("web:3")
		w.awaitConfirming(all(web.completed, web.serves("web:3", 10)))
		w.awaitUnless(all(deleted("background"), web.completed, web.serves("web:3", 10)), web.neverRuns("web:1", 1))
	})
}

// anotherOf wants a workload that is not the one before.
func anotherOf(before types.UID) check {
	return func(s *scene) error {
		if workload := s.workload("web"); workload == nil || workload.GetUID() == before {
			return fmt.Errorf("want another workload")
		}
		return nil
	}
}

// neverRuns returns an error as soon as there are so many pods of an image.
func (name subject) neverRuns(image string, pods int) check {
	return func(s *scene) error {
		if have := len(s.podsRunning(image)); have >= pods {
			return fmt.Errorf("%d pods run %s", have, image)
		}
		return nil
	}
}

// awaitUnless awaits a check while another one holds.
func (w *forgeWorld) awaitUnless(done, holds check) {
	w.Helper()
	w.await(func(s *scene) error {
		if err := holds(s); err != nil {
			w.Fatalf("meanwhile: %v", err)
		}
		return done(s)
	})
}
