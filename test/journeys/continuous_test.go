package journeys

import (
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// A new template in the middle of a release takes its place: V1, V2, V3.
func TestContinuousRelease(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10))
	w.create(release("web:2", step("30%"), step("60%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 7, "web:2": 3})))
	w.releaseImage("web:3")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 7, "web:3": 3})))
	w.wantNoGatesOfAttempt(1)
	w.confirm("web")
	w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 4, "web:3": 6})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:3", 10)))

	// What was stable before the release is what a rollback goes back to, not what was passed by.
	w.rollBack()
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 10)))
}

// The unhealthy pods go first.
func TestContinuousReleaseOverBrokenVersion(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10))
	w.create(releaseOf(podTemplate("web:2", map[string]string{controlplane.BehaviourAnnotation: controlplane.CrashLoop}),
		step("30%"), step("100%")))
	w.await(all(upgrading, func(s *scene) error {
		if n := s.podsOf(s.deployments["web"])["web:2"]; n != 3 {
			return fmt.Errorf("want 3 pods of web:2, have %d", n)
		}
		return nil
	}))
	w.releaseImage("web:3")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 7, "web:3": 3})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:3", 10)))
}

// One template after the other, faster than any of them can be released.
func TestManyTemplatesAtOnce(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(6))
	w.create(releaseOf(podTemplate("web:2", delayed), step("30%", none()), step("100%")))
	for version := 3; version < 12; version++ {
		image := fmt.Sprintf("web:%d", version)
		w.release(podTemplate(image, delayed))
		w.await(web.observed)
	}
	w.await(all(web.completed, web.serves("web:11", 6)))
}

// A new template may come at any moment of the take-over.
func TestTemplateReverted(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(6))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.releaseImage("web:1") // git revert
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 6)))
	w.releaseImage("web:2") // and back: a release with its gates again
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 3})))
}

func (w *world) wantNoGatesOfAttempt(attempt int64) {
	w.Helper()
	w.await(func(s *scene) error {
		for _, gate := range s.gates {
			if gate.Spec.Attempt == attempt {
				return fmt.Errorf("want no gates of attempt %d, have %s", attempt, gate.Name)
			}
		}
		return nil
	})
}
