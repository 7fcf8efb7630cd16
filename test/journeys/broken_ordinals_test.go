package journeys

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Pods of a completed release break, the lowest of them. Its rollback replaces those first, and no other meanwhile: the highest
// serves, and one pod may be unavailable. The native controller would begin with the highest (S2).
func TestRollbackOfBrokenOrdinals(t *testing.T) {
	w := newWorld(t)
	w.judged = nil
	w.startController()
	w.create(ordinals(4, parallel))
	w.await(images("web:1", "web:1", "web:1", "web:1"))
	r := release("web:2", step("100%"))
	r.Spec.WorkloadRef.Kind = "StatefulSet"
	w.create(r)
	w.await(all(web.phase(v1alpha1.PhaseCompleted), images("web:2", "web:2", "web:2", "web:2")))

	for _, pod := range []string{"web-0", "web-1"} {
		w.kubectl("patch", "pod", pod, "--subresource=status", "-p",
			`{"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"ContainersReady","status":"False"}]}}`)
	}
	w.await(images("web:2!", "web:2!", "web:2", "web:2"))
	w.rollBack()
	w.await(all(web.phase(v1alpha1.PhaseCompleted), images("web:1", "web:1", "web:1", "web:1")))
	w.wantServing(2)
}

// wantServing wants so many pods to have served at each moment since the rollback was asked for.
func (w *world) wantServing(least int) {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatalf("the journal has a gap: %v", err)
	}
	s, asked := newScene(), false
	for _, e := range entries {
		s.apply(e)
		if release := s.releases["web"]; release != nil && release.Annotations[v1alpha1.RollbackAnnotation] != "" {
			asked = true
		}
		serving := 0
		for _, pod := range s.pods {
			if pod.DeletionTimestamp == nil && isReady(pod) {
				serving++
			}
		}
		if asked && serving < least {
			w.Errorf("%d pods serve at revision %d, want at least %d", serving, e.revision, least)
		}
	}
}
