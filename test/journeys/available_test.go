package journeys

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// counts wants the totals of a release: the ready, available and unavailable pods of all versions.
func (name subject) counts(ready, available, unavailable int32) check {
	return func(s *scene) error {
		release := s.releases[string(name)]
		if release == nil {
			return fmt.Errorf("want release %s", name)
		}
		status := &release.Status
		if status.ReadyReplicas != ready || status.AvailableReplicas != available || status.UnavailableReplicas != unavailable {
			return fmt.Errorf("want %d ready, %d available, %d unavailable; have %d, %d, %d", ready, available, unavailable,
				status.ReadyReplicas, status.AvailableReplicas, status.UnavailableReplicas)
		}
		return nil
	}
}

// TestMinReadySeconds: a pod counts once it has been ready for minReadySeconds. Another value
// counts from the next batch on: the native controller copies it to the new ReplicaSet of a paused
// Deployment.
func TestMinReadySeconds(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(2, rolling(1, 0), func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 2 }))
	w.create(release("web:2", step(1), step("100%")))
	s := w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 1, "web:2": 1})))
	release := s.releases["web"]
	if took := release.Status.LastUpdateTime.Sub(release.Status.StartedAt.Time); took < 2*time.Second {
		t.Errorf("the batch was done after %s, want at least minReadySeconds", took)
	}
	for _, set := range s.sets {
		if set.Spec.MinReadySeconds != 2 {
			t.Errorf("%s has minReadySeconds %d, want 2", set.Name, set.Spec.MinReadySeconds)
		}
	}
	w.kubectl("patch", "deployment", "web", "-p", `{"spec":{"minReadySeconds":3}}`)
	w.await(func(s *scene) error {
		if set := s.updateSet(s.deployments["web"]); set == nil || set.Spec.MinReadySeconds != 3 {
			return errors.New("want minReadySeconds of the new ReplicaSet to be 3")
		}
		return nil
	})
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 2), web.counts(2, 2, 0)))
	w.wantReadyFor("web:2", 3*time.Second)
	w.await(web.spec("minReadySeconds as it was set", func(d *appsv1.Deployment) bool { return d.Spec.MinReadySeconds == 3 }))
}

// wantReadyFor wants the batch, or the release, to have ended when all pods of an image had been
// ready for so long. Both times are in whole seconds, which makes none of them shorter.
func (w *world) wantReadyFor(image string, least time.Duration) {
	w.Helper()
	s := w.now()
	ended, seen := s.releases["web"].Status.LastUpdateTime, false
	for _, pod := range s.pods {
		if pod.Spec.Containers[0].Image != image {
			continue
		}
		for _, c := range pod.Status.Conditions {
			if c.Type != corev1.PodReady {
				continue
			}
			seen = true
			if took := ended.Sub(c.LastTransitionTime.Time); took < least {
				w.Errorf("%s had been ready for %s when its batch ended, want at least %s", pod.Name, took, least)
			}
		}
	}
	if !seen {
		w.Errorf("want pods of %s", image)
	}
}
