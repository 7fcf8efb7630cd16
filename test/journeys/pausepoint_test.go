package journeys

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
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

// TestPausePoints: a release holds exactly before a pod with a pause point, twice if there are two,
// until the annotation is taken away or the hold is confirmed.
func TestPausePoints(t *testing.T) {
	w := newWorld(t)
	w.startController()
	old := w.pausing(3, 5)
	w.await(holdsBefore(old, 3))
	w.takePausePoint(old[3])
	w.await(holdsBefore(old, 5))
	w.confirmPausePoint(old[5])
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.goesInOrder(old)
}

// TestPausePointsSideBySide: the first pod to go can have a pause point, and so can its neighbour.
func TestPausePointsSideBySide(t *testing.T) {
	w := newWorld(t)
	w.startController()
	old := w.pausing(0, 1, 9)
	for _, place := range []int{0, 1, 9} {
		w.await(holdsBefore(old, place))
		w.confirmPausePoint(old[place])
	}
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.goesInOrder(old)
}

// TestPausePointDeletedByHand: a pod that is deleted by hand takes its own hold with it, and no
// other.
func TestPausePointDeletedByHand(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.excuses()
	w.excuse.races = []law{enoughRun} // others may go before the ReplicaSet controller has counted the pod that is deleted
	old := w.pausing(2, 6)
	w.await(holdsBefore(old, 2))
	w.kubectl("delete", "pod", old[2].Name)
	w.await(func(s *scene) error {
		if at := statusOf(s).PausePoint; at == nil || at.UID != old[6].UID {
			return fmt.Errorf("want the release to hold before %s, got %+v", old[6].Name, at)
		}
		if pod := s.pods[old[5].UID]; pod != nil && alive(pod) {
			return errors.New("want all pods before the pause point gone")
		}
		return nil
	})
	w.takePausePoint(old[6])
	w.await(all(web.completed, web.serves("web:2", 10)))
}

// TestPausePointAcrossRestarts: a controller that dies after each kind of its writes goes on
// holding where the one before it did.
func TestPausePointAcrossRestarts(t *testing.T) {
	w := newWorld(t)
	var writes atomic.Int64 // several are sent at once
	first := w.startControllerUntil(func(r *http.Request) moment {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/pods/") && writes.Add(1) == 3 {
			return after
		}
		return goOn
	})
	old := w.pausing(3)
	w.await(first.died)
	second := w.startController()
	w.await(holdsBefore(old, 3))
	second.kill()
	w.startController()
	w.confirmPausePoint(old[3])
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.goesInOrder(old)
}

// TestDaemonSetPausePoints: a DaemonSet pauses before the pod with a pause point, in the order that
// the release says, until it is confirmed or taken away.
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
	w.confirmPausePoint(old[1])
	w.await(holdsBefore(old, 3))
	w.takePausePoint(old[3])
	w.wantUntouched(d, all(web.completed, web.serves("web:2", 4)))
}
