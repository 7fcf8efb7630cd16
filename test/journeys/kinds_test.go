package journeys

import (
	"fmt"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// onBothKinds is a journey of a StatefulSet, and of a DaemonSet.
func onBothKinds(t *testing.T, journey func(w *world, p inPlace)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		t.Run(kind, func(t *testing.T) { journey(newWorld(t), inPlaces()[kind]) })
	}
}

// served starts the controller, and has so many pods of web:1 serve.
func (p inPlace) served(w *world, pods int) client.Object {
	w.Helper()
	w.startController()
	workload := p.workload(w, pods)
	w.placed(workload, int32(pods))
	return workload
}

// to is a release of web:2, two pods at a time.
func (p inPlace) to(w *world, steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
	w.Helper()
	return releaseTo(p.kind, p.template(w, "web:2", nil), steps...)
}

// next brings the release another image.
func (p inPlace) next(w *world, image string) {
	w.Helper()
	w.release(p.template(w, image, nil))
}

// shut wants the workload held, and its native controller to update no pod.
func (p inPlace) shut(s *scene) error {
	if p.kind == "DaemonSet" {
		return onDelete(s)
	}
	return closed(s)
}

// missing gives a step a maxUnavailable of its own.
func missing(pods int32, s v1alpha1.Step) v1alpha1.Step {
	s.MaxUnavailable = share(pods)
	return s
}

// lookedAgain waits until the controller has looked at the release once more.
func (w *world) lookedAgain() {
	w.Helper()
	limit := ptr.Deref(w.now().releases["web"].Spec.RevisionHistoryLimit, 10) - 1
	w.patchRelease(fmt.Sprintf(`{"spec":{"revisionHistoryLimit":%d}}`, limit))
	w.await(web.observed)
}

// going wants so many pods to be there, and to be going.
func going(n int) check {
	return func(s *scene) error {
		have := 0
		for _, pod := range s.pods {
			if pod.DeletionTimestamp != nil {
				have++
			}
		}
		if have != n {
			return fmt.Errorf("want %d pods going, have %d", n, have)
		}
		return nil
	}
}
