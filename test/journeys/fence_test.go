package journeys

import (
	"fmt"
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

// A release stays within maxSurge and maxUnavailable, whether they are the Deployment's or its own.
func TestStaysWithinFence(t *testing.T) {
	cases := map[string]struct{ surge, unavailable any }{
		"NoSurge":            {0, 1},
		"NoSurgePercent":     {"0%", "40%"},
		"NoneUnavailable":    {1, 0},
		"BothZeroByRounding": {"0%", "5%"},
		"AllAtOnce":          {"100%", 0},
	}
	for name, limits := range cases {
		t.Run("Deployment/"+name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			d := deployment(4, rolling(limits.surge, limits.unavailable))
			d.Spec.Template = podTemplate("web:1", delayed)
			w.deployed(d)
			w.create(releaseOf(podTemplate("web:2", delayed), step(1, none()), step("50%"), step("100%")))
			w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 2, "web:2": 2})))
			w.confirm("web")
			w.await(all(web.completed, web.serves("web:2", 4)))
		})
		t.Run("Release/"+name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4))
			r := releaseOf(podTemplate("web:2", delayed), step(2, none()), step("100%"))
			r.Spec.Strategy.MaxSurge, r.Spec.Strategy.MaxUnavailable = share(limits.surge), share(limits.unavailable)
			w.create(r)
			w.await(all(web.completed, web.serves("web:2", 4)))
		})
	}
}

// A hundred pods, with every revision on the way checked.
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
	if f.leastReady < 75 || f.mostPods > 125 {
		t.Errorf("want 75 to 125 pods, had %d to %d", f.leastReady, f.mostPods)
	}
	if n := f.scalings["kube-controller-manager"]; n > 0 {
		t.Errorf("the native controller scaled %d times while the workload was held", n)
	}
}

// The pods that there are at once stay within maxSurge, though the ReplicaSet controller deletes some after it has made others.
func TestNoMorePodsThanPromised(t *testing.T) {
	for replicas, most := range map[int32]int32{7: 9, 10: 13} {
		for i := range 3 {
			t.Run(fmt.Sprintf("%d pods, %d", replicas, i), func(t *testing.T) {
				w := newWorld(t)
				w.startController()
				w.deployed(deployment(replicas))
				w.create(release("web:2", step("30%", none()), step("60%", none()), step("100%")))
				w.await(all(web.completed, web.serves("web:2", replicas)))
				f := w.findings(web)
				if f.mostPods != most {
					t.Errorf("%d pods were asked for at once, want %d: all that maxSurge allows", f.mostPods, most)
				}
				if f.mostSeen > most { // how many were, is up to the ReplicaSet controller
					t.Errorf("%d pods were there at once, want %d at most", f.mostSeen, most)
				}
				if len(f.broken) > 0 {
					t.Errorf("broken: %v", f.broken)
				}
			})
		}
	}
}

// Pods that are going away keep their places until they are gone, where the release says so.
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

// One pod is as good as many.
func TestFewPods(t *testing.T) {
	for _, n := range []int32{1, 2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(n))
			w.create(release("web:2", step("50%", none()), step("100%")))
			w.await(all(web.completed, web.serves("web:2", n)))
			w.releaseImage("web:3")
			w.await(all(web.completed, web.serves("web:3", n)))
		})
	}
}

// A quota that leaves no room for more pods does not delay anything: old ones make room for new ones.
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
