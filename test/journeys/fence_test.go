package journeys

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// delayed pods take a moment to be ready, as real ones do.
var delayed = map[string]string{controlplane.ReadyDelayAnnotation: "300ms"}

// TestHundredPods: a hundred pods, with every revision on the way checked.
func TestHundredPods(t *testing.T) {
	w := newWorld(t)
	c := w.startController()
	w.deployed(deployment(100))
	w.create(release("web:2", step(1, none()), step("10%", none()), step("50%"), step("100%")))
	w.await(all(web.blocksAt(2), web.runs(pods{"web:1": 50, "web:2": 50})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 100)))

	f := w.findings(web)
	t.Logf("least that served %d, most asked for %d, scalings %v, requests %v", f.leastReady, f.mostPods, f.scalings, c.requests())
	if f.leastReady < 75 || f.mostPods > 125 || f.mostSeen > 125 {
		t.Errorf("want 75 to 125 pods, had %d to %d, and %d at once", f.leastReady, f.mostPods, f.mostSeen)
	}
	if n := f.scalings["kube-controller-manager"]; n > 0 {
		t.Errorf("the native controller scaled %d times while the workload was held", n)
	}
}

// TestPodsThatGoAreWaitedFor: pods that are going away keep their places until they are gone, where
// the release says so.
func TestPodsThatGoAreWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.startController()
	d := deployment(4)
	d.Spec.Template.Finalizers = []string{"test.sluice.dev/hold"} // its pods take as long as the test wants
	w.deployed(d)
	r := release("web:2", step("100%"))
	r.Spec.Strategy.MaxSurge, r.Spec.Strategy.MaxUnavailable = share("1"), share("1")
	r.Spec.Strategy.PodReplacement = v1alpha1.ReplaceWhenTerminated
	w.create(r)
	released := map[types.UID]bool{}
	w.await(func(s *scene) error {
		for uid, pod := range s.pods {
			if pod.DeletionTimestamp != nil && len(pod.Finalizers) > 0 && !released[uid] && len(s.pods) >= 5 {
				released[uid] = true
				w.letGo(pod.Name)
				break
			}
		}
		return all(web.completed, web.serves("web:2", 4))(s)
	})
	if f := w.findings(web); f.mostPresent != 5 {
		t.Errorf("%d pods were there at once, those that were going away included, want 5", f.mostPresent)
	}
}

// letGo takes the finalizers of a pod away.
func (w *world) letGo(name string) {
	w.Helper()
	pod := named[corev1.Pod](name)
	pod.Namespace = w.namespace
	if err := w.Patch(w.Context(), pod, mergePatch(`{"metadata":{"finalizers":null}}`)); client.IgnoreNotFound(err) != nil {
		w.Fatalf("take the finalizers of Pod %s away: %v", name, err)
	}
}

// TestNoRoomForSurge: a quota that leaves no room for more pods does not delay anything: old ones
// make room for new ones.
func TestNoRoomForSurge(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(16, rolling("50%", "25%")))
	w.create(&corev1.ResourceQuota{
		ObjectMeta: named[corev1.ResourceQuota]("full").ObjectMeta,
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("16")}},
	})
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 8, "web:2": 8})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 16)))
}
