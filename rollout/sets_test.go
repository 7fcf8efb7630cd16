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

// scaledMeanwhile serves a Deployment and its updated ReplicaSet. During a dry run it scales the
// Deployment if scales is true, and takes an updated pod away if loses is true. It notes each
// write.
type scaledMeanwhile struct {
	client.WithWatch

	scales  bool
	loses   bool
	cached  *appsv1.Deployment
	updated *appsv1.ReplicaSet
	written []string
}

func (s *scaledMeanwhile) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *appsv1.Deployment:
		s.cached.DeepCopyInto(into)
		return nil
	case *appsv1.ReplicaSet:
		if key.Name == s.updated.Name {
			s.updated.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
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
		return
	}
	if s.loses {
		s.updated = s.updated.DeepCopy()
		s.updated.ResourceVersion = "13"
		s.updated.Status.AvailableReplicas--
	}
	if s.scales {
		s.cached = s.cached.DeepCopy()
		s.cached.ResourceVersion, s.cached.Generation, s.cached.Spec.Replicas = "12", 5, new(int32(15))
	}
}

// TestSetsAreNotScaledForAnOldSize: a write of a ReplicaSet that was decided for the old size of
// its Deployment is not sent where the Deployment is scaled during the dry run. A shrink is not
// sent either where an updated pod was lost meanwhile.
func TestSetsAreNotScaledForAnOldSize(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		write  plan.MovePods
		scales bool
		loses  bool
		want   []string
	}{
		"a size":               {plan.MovePods{Write: deployment.Scale{Set: deployment.Set{UID: "old"}, From: 10, To: 8}}, false, false, []string{"patch web-old"}},
		"a size, overtaken":    {plan.MovePods{Write: deployment.Scale{Set: deployment.Set{UID: "old"}, From: 10, To: 8}}, true, false, nil},
		"a pod is lost":        {plan.MovePods{Write: deployment.Scale{Set: deployment.Set{UID: "old"}, From: 10, To: 8}}, false, true, nil},
		"a growth, a loss":     {plan.MovePods{Write: deployment.Scale{Set: deployment.Set{UID: "old"}, From: 10, To: 12}}, false, true, []string{"patch web-old"}},
		"a new one":            {plan.MovePods{Write: deployment.Create{Revision: "new", Replicas: 3}}, false, false, []string{"create web-new"}},
		"a new one, overtaken": {plan.MovePods{Write: deployment.Create{Revision: "new", Replicas: 3}}, true, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web", UID: "web", ResourceVersion: "11", Generation: 4,
			}}
			d.Spec.Replicas, d.Spec.Selector = new(int32(10)), &metav1.LabelSelector{}
			set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-old", UID: "old"}}
			set.Spec.Replicas = new(int32(10))
			updated := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-updated", UID: "updated", ResourceVersion: "3"}}
			updated.Spec.Replicas, updated.Status.AvailableReplicas = new(int32(2)), 2
			there := &scaledMeanwhile{scales: test.scales, loses: test.loses, cached: d, updated: updated}
			r := NewReconciler(there, there, there, events.NewFakeRecorder(1), clock.RealClock{})
			v := &view{
				process: newProcess(r.clock), workload: &deployment.Object{Deployment: d}, sets: []*appsv1.ReplicaSet{set, updated},
				setsLive: map[types.UID]bool{}, release: &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
			}
			v.process.whole = wholeTemplate{d.UID, d.Generation, json.RawMessage("{}")}
			err := r.act(t.Context(), v, []plan.Action{test.write})
			if outdated(err) != (test.want == nil) || !slices.Equal(there.written, test.want) {
				t.Errorf("wrote %q with error %v, want %q", there.written, err, test.want)
			}
		})
	}
}
