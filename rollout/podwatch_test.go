package rollout

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
)

// TestPodsOfAMissingWorkloadAreNotWatched: the watch of the pods of a held workload ends with the
// workload, and not with the release.
func TestPodsOfAMissingWorkloadAreNotWatched(t *testing.T) {
	t.Parallel()
	there := &podsThere{events: watch.NewRaceFreeFake()}
	r := NewReconciler(there, there, there, events.NewFakeRecorder(1), clock.RealClock{})
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "set"}}
	set.Annotations = map[string]string{v1alpha1.HoldAnnotation: `{"release":"web"}`}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	v := &view{process: newProcess(r.clock), release: &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}
	for _, held := range []bool{true, false, true} {
		v.workload = nil
		if held {
			v.workload = &statefulset.Object{StatefulSet: set}
		}
		_ = r.observer.observeParts(t.Context(), v) // the watch has not seen the pods yet
		if watched := r.watches.Watched(client.ObjectKeyFromObject(v.release)); watched != held {
			t.Errorf("the workload is there: %t, and its pods are watched: %t", held, watched)
		}
	}
	r.watches.Forget(client.ObjectKeyFromObject(v.release))
}
