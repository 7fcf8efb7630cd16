package journeys

import (
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestDaemonSetForeignPodsGo: an external template and strategy are put back in one write. A pod of
// that template goes with the next batch, after the change is acknowledged.
func TestDaemonSetForeignPodsGo(t *testing.T) {
	w, p := newWorld(t), workloadKinds()["DaemonSet"]
	d := p.atHalf(w, 4)
	w.excuses()
	w.excuse.races = []law{withinStep, neverFewer, heldShut, enoughRun}
	w.controllers[0].kill()
	w.kubectl("patch", "daemonset", "web", "-p",
		`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1}},`+webOf("web:9")+`}}`)
	w.await(all(hasPods(4), somePodOf("web:9"), seenNatively))
	w.catchUp()
	before := w.now().daemon().Generation
	w.startController()
	w.await(all(web.reason(v1alpha1.ReasonDrifted), onDelete, hasPods(4), seenNatively))
	w.catchUp()
	if after := w.now().daemon().Generation; after != before+1 {
		t.Errorf("it is put back in %d writes, want 1", after-before)
	}
	w.wantUntouched(d, all(web.completed, web.serves("web:2", 4)))
}

// somePodOf wants a pod to be of an image.
func somePodOf(image string) check {
	return func(s *scene) error {
		if noPodOf(image)(s) == nil {
			return fmt.Errorf("want a pod of %s", image)
		}
		return nil
	}
}

// noPodOf wants no pod to be of an image.
func noPodOf(image string) check {
	return func(s *scene) error {
		for _, pod := range s.pods {
			if pod.Spec.Containers[0].Image == image {
				return fmt.Errorf("want no pod of %s", image)
			}
		}
		return nil
	}
}
