package rollout

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// nothingLeft is an API server that has nothing.
type nothingLeft struct{ client.Reader }

func (nothingLeft) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, key.Name)
}

// TestDeploymentGoesBeforeItIsRead: a cached Deployment that a live read does not find is missing
// in the next plan, and its other objects are not read.
func TestDeploymentGoesBeforeItIsRead(t *testing.T) {
	t.Parallel()
	r := newReconciler(&cluster{live: nothingLeft{}})
	v := &view{
		process: newProcess(clock.RealClock{}), release: &v1alpha1.BatchRelease{},
		workload: workload.New("Deployment"), setsLive: map[types.UID]bool{},
	}
	needs := plan.Needs{Reads: plan.ReadWorkload | plan.ReadCounts | plan.ReadPods | plan.ReadFailing}
	if err := r.observer.satisfy(t.Context(), v, needs); err != nil {
		t.Fatal(err)
	}
	if o := v.observation(time.Now()); o.Workload != nil || o.Live != plan.ReadWorkload {
		t.Errorf("the workload is %v, and what was read %b, want none, and it alone", o.Workload, o.Live)
	}
}
