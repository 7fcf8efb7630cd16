package rollout

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestSetNameIsTheNativeOne: the native controller looks for the ReplicaSet of a hash by its
// template, and makes it with this name.
func TestSetNameIsTheNativeOne(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ deployment, hash, want string }{
		"short":           {"web", "5d4f8c7b9d", "web-5d4f8c7b9d"},
		"as long as fits": {strings.Repeat("a", 242), "5d4f8c7b9d", strings.Repeat("a", 242) + "-5d4f8c7b9d"},
		"too long":        {strings.Repeat("a", 243), "5d4f8c7b9d", strings.Repeat("a", 242) + "-5d4f8c7b9d"},
		"the longest":     {strings.Repeat("a", 253), "5d4f8c7b9", strings.Repeat("a", 243) + "-5d4f8c7b9"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := setName(test.deployment, test.hash); got != test.want {
				t.Errorf("setName = %q, want %q", got, test.want)
			}
		})
	}
}

// scaledMeanwhile serves a Deployment, and scales it during a dry run if scales is true. It notes
// each write.
type scaledMeanwhile struct {
	client.WithWatch

	scales  bool
	cached  *appsv1.Deployment
	written []string
}

func (s *scaledMeanwhile) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	d, is := into.(*appsv1.Deployment)
	if !is {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	s.cached.DeepCopyInto(d)
	return nil
}

func (s *scaledMeanwhile) Patch(_ context.Context, set client.Object, _ client.Patch, opts ...client.PatchOption) error {
	set.(*appsv1.ReplicaSet).Spec.Replicas = new(int32(8))
	s.write("patch "+set.GetName(), (&client.PatchOptions{}).ApplyOptions(opts).DryRun)
	return nil
}

func (s *scaledMeanwhile) Create(_ context.Context, set client.Object, opts ...client.CreateOption) error {
	s.write("create "+set.GetName(), (&client.CreateOptions{}).ApplyOptions(opts).DryRun)
	return nil
}

func (s *scaledMeanwhile) write(what string, dryRun []string) {
	if len(dryRun) == 0 {
		s.written = append(s.written, what)
	} else if s.scales {
		s.cached = s.cached.DeepCopy()
		s.cached.ResourceVersion, s.cached.Generation, s.cached.Spec.Replicas = "12", 5, new(int32(15))
	}
}

// TestSetsAreNotScaledForAnOldSize: a write of a ReplicaSet that was decided for the old size of
// its Deployment is not sent where the Deployment is scaled during the dry run.
func TestSetsAreNotScaledForAnOldSize(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		write  plan.MovePods
		scales bool
		want   []string
	}{
		"a size":               {plan.MovePods{Write: deployment.Scale{Set: deployment.Set{UID: "old"}, From: 10, To: 8}}, false, []string{"patch web-old"}},
		"a size, overtaken":    {plan.MovePods{Write: deployment.Scale{Set: deployment.Set{UID: "old"}, From: 10, To: 8}}, true, nil},
		"a new one":            {plan.MovePods{Write: deployment.Create{Revision: "new", Replicas: 3}}, false, []string{"create web-new"}},
		"a new one, overtaken": {plan.MovePods{Write: deployment.Create{Revision: "new", Replicas: 3}}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web", UID: "web", ResourceVersion: "11", Generation: 4,
			}}
			d.Spec.Replicas, d.Spec.Selector = new(int32(10)), &metav1.LabelSelector{}
			set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-old", UID: "old"}}
			set.Spec.Replicas = new(int32(10))
			there := &scaledMeanwhile{scales: test.scales, cached: d}
			r := NewReconciler(there, there, there, events.NewFakeRecorder(1), clock.RealClock{})
			v := &view{
				process: newProcess(r.clock), workload: &deployment.Object{Deployment: d}, sets: []*appsv1.ReplicaSet{set},
				setsLive: map[types.UID]bool{}, release: &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
			}
			v.process.whole = wholeTemplate{d.UID, d.Generation, json.RawMessage("{}")}
			err := r.act(t.Context(), v, []plan.Action{test.write})
			if outdated(err) != test.scales || !slices.Equal(there.written, test.want) {
				t.Errorf("wrote %q with error %v, want %q", there.written, err, test.want)
			}
		})
	}
}
