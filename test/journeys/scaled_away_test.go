package journeys

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// most is how many pods the ReplicaSet of an image was asked for at most while the Deployment was held, whoever asked.
func (w *world) most(image string) int32 {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatalf("journal: %v", err)
	}
	most := int32(0)
	for _, e := range entries {
		if set, is := e.object.(*appsv1.ReplicaSet); is && !e.gone && set.Spec.Template.Spec.Containers[0].Image == image {
			most = max(most, replicas(set))
		}
	}
	return most
}

// wantMost wants no more pods of an image to have been asked for.
func (w *world) wantMost(image string, want int32) {
	w.Helper()
	if most := w.most(image); most > want {
		w.Errorf("I3: %d pods of %s, at most %d are approved", most, image, want)
	}
}

// scaleAway lets a Deployment be scaled while there is no controller, and waits until the native one has seen it.
func (w *world) scaleAway(size int32) {
	w.Helper()
	w.resize(size)
	w.await(func(s *scene) error {
		if d := s.deployments["web"]; d == nil || replicasOf(d) != size || d.Status.ObservedGeneration < d.Generation {
			return fmt.Errorf("want the native controller to see %d replicas", size)
		}
		return nil
	})
}

func replicasOf(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1
	}
	return *d.Spec.Replicas
}

// A step of as many pods as there are leaves an old one, so that nobody's scaling brings more of the new version than
// were approved, with the controller away.
func TestStepOfAllPodsIsScaledUpWithoutController(t *testing.T) {
	w := newWorld(t)
	c := w.startController()
	w.deployed(deployment(2, rolling(1, 0)))
	w.create(release("web:2", step(2), step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 1, "web:2": 1})))
	c.kill()
	w.scaleAway(10)
	w.wantMost("web:2", 1)
	w.startController()
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 8, "web:2": 2})))
	w.wantMost("web:2", 2)
	w.confirm("web")
	w.await(web.blocksAt(1))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 10)))
}

// Scaled to 0 and back at a gate, with any history and whether or not the controller sees the way back, the pods that
// come are of the stable version, and no more of the new one than were approved.
func TestScaledToZeroAndBackWithAnyHistory(t *testing.T) {
	for history, there := range map[int32]bool{0: false, 10: true} {
		t.Run(fmt.Sprintf("History%d/There=%t", history, there), func(t *testing.T) {
			w := newWorld(t)
			c := w.startController()
			w.deployed(deployment(10, rolling(1, 0), func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = &history }))
			w.create(release("web:2", step(1), step("100%")))
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 9, "web:2": 1})))
			w.scale("0")
			w.await(all(web.runs(pods{}), sizeSeen(0)))
			if !there {
				c.kill()
				w.scaleAway(10)
				w.await(web.serves("web:1", 10))
				w.startController()
			} else {
				w.scale("10")
			}
			w.await(all(web.status("the batch again", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Replicas == 10 }),
				web.runs(pods{"web:1": 9, "web:2": 1})))
			w.wantMost("web:2", 1)
			w.confirm("web")
			w.await(all(web.completed, web.serves("web:2", 10)))
		})
	}
}
