package journeys

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// byName orders pods as the release of these journeys does.
func byName(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }

// pausing has ten pods of web:1 serve, the ones of these places with pause points, and releases
// web:2 to all of them in one step, by name.
func (w *world) pausing(places ...int) []*corev1.Pod {
	w.Helper()
	w.spread(rolling(1, 2))
	old := w.now().oldPods(byName)
	for _, place := range places {
		w.kubectl("annotate", "pod", old[place].Name, v1alpha1.PausePointAnnotation+"=true")
	}
	r := release("web:2", step("100%"))
	r.Spec.Strategy.Order = []v1alpha1.OrderKey{{Name: v1alpha1.Ascending}}
	w.create(r)
	return old
}

// holdsBefore wants all pods before the one to be gone, the others to be there, and the status to
// say so.
func holdsBefore(old []*corev1.Pod, place int) check {
	return func(s *scene) error {
		status := statusOf(s)
		if status.Reason != v1alpha1.ReasonPausePoint || status.PausePoint == nil || status.PausePoint.Pod != old[place].Name {
			return fmt.Errorf("want the release to hold before %s, got %s %+v", old[place].Name, status.Reason, status.PausePoint)
		}
		if !strings.Contains(status.Message, old[place].Name) {
			return fmt.Errorf("want the message to name %s, got %q", old[place].Name, status.Message)
		}
		for i, pod := range old {
			now := s.pods[pod.UID]
			if stays := now != nil && alive(now); stays != (i >= place) {
				return fmt.Errorf("want the pods before number %d gone and no others, number %d is there: %t", place+1, i+1, stays)
			}
		}
		return nil
	}
}

// statusOf returns the status of the release "web", an empty one if there is none yet.
func statusOf(s *scene) *v1alpha1.BatchReleaseStatus {
	if release := s.releases["web"]; release != nil {
		return &release.Status
	}
	return &v1alpha1.BatchReleaseStatus{}
}

func (w *world) takePausePoint(pod *corev1.Pod) {
	w.Helper()
	w.kubectl("annotate", "pod", pod.Name, v1alpha1.PausePointAnnotation+"-")
}

// confirmPausePoint acts as gates.md tells users to.
func (w *world) confirmPausePoint(pod *corev1.Pod) {
	w.Helper()
	w.kubectl("patch", "batchrelease", "web", "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{"pausePoint":{"confirmed":%q}}}`, pod.Name))
}

// TestPausePoints: a release holds exactly before each pod with a pause point, also the first to go
// and its neighbour, until the annotation is taken away or the hold is confirmed. A controller that
// starts anew holds there too.
func TestPausePoints(t *testing.T) {
	w := newWorld(t)
	first := w.startController()
	old := w.pausing(0, 1, 5)
	w.await(holdsBefore(old, 0))
	w.takePausePoint(old[0])
	w.await(holdsBefore(old, 1))
	first.kill()
	w.startController()
	w.lookedAgain()
	w.await(holdsBefore(old, 1))
	w.confirmPausePoint(old[1])
	w.await(holdsBefore(old, 5))
	w.confirmPausePoint(old[5])
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.goesInOrder(old)
}

// TestDaemonSetPausePoints: a DaemonSet pauses before the pod with a pause point, in the order that
// the release says, until the pod is deleted by hand or the pause point is taken away.
func TestDaemonSetPausePoints(t *testing.T) {
	w := newWorld(t)
	w.ownNodes(4)
	w.startController()
	d := w.daemonSet()
	w.placed(d, 4)
	old := w.now().oldPods(byName)
	for _, place := range []int{1, 3} {
		w.kubectl("annotate", "pod", old[place].Name, v1alpha1.PausePointAnnotation+"=true")
	}
	r := w.toDaemon(step("100%"))
	r.Spec.Strategy.Order = []v1alpha1.OrderKey{{Name: v1alpha1.Ascending}}
	w.create(r)
	w.await(holdsBefore(old, 1))
	w.kubectl("delete", "pod", old[1].Name)
	w.await(holdsBefore(old, 3))
	w.takePausePoint(old[3])
	w.wantUntouched(d, all(web.completed, web.serves("web:2", 4)))
}
