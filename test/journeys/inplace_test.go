package journeys

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// TestInPlaceBrokenVersion: a new version that never serves stops at what maxUnavailable lets it
// take. It is rolled back, or superseded by one that serves. The status says what is wrong with its
// pods. In order, the native controller waits for its pod and never replaces it (kubernetes#67250).
func TestInPlaceBrokenVersion(t *testing.T) {
	onKinds(t, []string{"StatefulSet", "OrderedReady", "DaemonSet"}, func(w *world, p workloadKind) {
		before := p.served(w, 6)
		w.create(releaseTo(p.kind, p.template(w, "web:2", behaving(controlplane.NeverReady)), step("50%"), step("100%")))
		w.await(brokenPod)
		w.rollBack()
		w.wantUntouched(before, all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 6)))
		w.release(p.template(w, "web:3", behaving(controlplane.CrashLoop)))
		w.await(all(podShows(crashed), web.phase(v1alpha1.PhaseRollingUpdate), troubled(v1alpha1.PodsCrash, " crash")))
		p.next(w, "web:4")
		w.wantUntouched(before, all(web.attempt(4), web.completed, web.serves("web:4", 6), untroubled))
		if least := w.findings(web).leastReady; least < 4 {
			w.Errorf("%d pods served at least, want 4 of 6", least)
		}
	})
}

// brokenPod wants a pod of web:2 to be there, on its node, and not to serve.
func brokenPod(s *scene) error {
	for _, pod := range s.pods {
		if alive(pod) && pod.Spec.Containers[0].Image == "web:2" && pod.Spec.NodeName != "" && !isReady(pod) {
			return nil
		}
	}
	return fmt.Errorf("want a pod of web:2 that does not serve")
}

// TestInPlaceMinReadySecondsWithoutHistory: pods count once they have been ready for
// minReadySeconds. Without a native history Sluice has the template to go back to.
func TestInPlaceMinReadySecondsWithoutHistory(t *testing.T) {
	onBothKinds(t, func(w *world, p workloadKind) {
		w.startController()
		before := p.workload(w, 4)
		switch o := before.(type) {
		case *appsv1.StatefulSet:
			o.Spec.MinReadySeconds, o.Spec.RevisionHistoryLimit = 3, new(int32(0))
		case *appsv1.DaemonSet:
			o.Spec.MinReadySeconds, o.Spec.RevisionHistoryLimit = 3, new(int32(0))
		}
		w.placed(before, 4)
		w.create(p.to(w, step(1), step("100%")))
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		w.wantReadyFor("web:2", 3*time.Second)
		w.wantUntouched(before, all(web.completed, web.serves("web:2", 4)))
		w.rollBack()
		w.wantUntouched(before, all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4)))
	})
}
