package rollout

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// vanished is an API server whose workload was deleted a moment ago. It answers a patch as it is
// told to.
type vanished struct {
	client.WithWatch

	answer func(name string) error
}

func (a vanished) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (a vanished) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return a.answer(object.GetName())
}

// TestWritesToAWorkloadThatIsGone deletes a workload after a pass has read it, and before the pass
// writes to it: the pass is outdated.
func TestWritesToAWorkloadThatIsGone(t *testing.T) {
	t.Parallel()
	answers := map[string]func(name string) error{
		"not found": func(name string) error { return apierrors.NewNotFound(schema.GroupResource{}, name) },
		"conflict":  func(name string) error { return apierrors.NewConflict(schema.GroupResource{}, name, nil) },
		"invalid":   func(name string) error { return apierrors.NewInvalid(schema.GroupKind{}, name, nil) },
	}
	writes := map[string]plan.Action{"take-over": plan.TakeOver{Hold: plan.Hold{Release: "web"}}, "hand-back": plan.HandBack{}}
	for answer, says := range answers {
		for write, action := range writes {
			t.Run(write+", "+answer, func(t *testing.T) {
				t.Parallel()
				there := vanished{answer: says}
				r := NewReconciler(there, there, there, events.NewFakeRecorder(1), clock.RealClock{})
				release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
				release.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
				d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d", ResourceVersion: "1"}}
				v := &view{process: newProcess(r.clock), release: release, workload: &deployment.Object{Deployment: d}}
				if err := r.act(t.Context(), v, []plan.Action{action}); !outdated(err) {
					t.Errorf("got %v, want an outdated pass", err)
				}
			})
		}
	}
}
