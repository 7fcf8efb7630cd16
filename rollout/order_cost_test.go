package rollout

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/order"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// patching is an API server that gives one answer to patches.
type patching struct {
	client.Client

	answer error
}

func (p patching) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return p.answer
}

// TestCostsThatWereNotWritten: pods are ordered once all of them have their costs. A pod that is
// gone needs none. Where a cost could not be written, nothing is removed by the order.
func TestCostsThatWereNotWritten(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		answer  error
		ordered bool
	}{
		"written":                    {nil, true},
		"the pod is gone":            {apierrors.NewNotFound(pods, "web-1"), true},
		"others write to it too":     {apierrors.NewConflict(pods, "web-1", errors.New("the object has been modified")), false},
		"a policy refuses it":        {apierrors.NewForbidden(pods, "web-1", nil), false},
		"the API server is too busy": {apierrors.NewTooManyRequests("", 1), false},
	} {
		r := newReconciler(&cluster{client: patching{answer: test.answer}})
		v := &view{process: newProcess(clock.RealClock{}), release: &v1alpha1.BatchRelease{}}
		pod := order.Pod{Name: "web-1", UID: "1"}
		v.facts.Pods, v.facts.Live = []order.Pod{pod}, plan.ReadPods
		err := r.kinds.mover.orderPods(t.Context(), v, deployment.OrderPods{Changes: []order.Change{{Pod: pod, Cost: 5, Mark: &order.Mark{}}}})
		if ordered := v.facts.Live&plan.ReadPods != 0; ordered != test.ordered || (err == nil) != test.ordered {
			t.Errorf("%s: pods count as ordered: %t, error %v, want %t", name, ordered, err, test.ordered)
		}
	}
}
