package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// TestNewSetIsTheNativeOne draws ReplicaSets of templates that are the same, written otherwise, or
// others, from the cache and read live: the new one to us is the new one to the native controller.
func TestNewSetIsTheNativeOne(t *testing.T) {
	t.Parallel()
	several := 0
	rapid.Check(t, func(t *rapid.T) {
		d := drawTemplate(t)
		var sets []*appsv1.ReplicaSet
		for i := range rapid.IntRange(0, 5).Draw(t, "sets") {
			set := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: drawTemplate(t).Spec.Template}}
			set.Name, set.UID = fmt.Sprintf("web-%d", (i*3)%5), types.UID(fmt.Sprint(i))
			set.CreationTimestamp = metav1.Unix(rapid.Int64Range(1e9, 1e9+2).Draw(t, "created"), 0)
			set.Spec.Template.Labels = withHash(set.Spec.Template.Labels, fmt.Sprint(i))
			set.Labels = set.Spec.Template.Labels
			if rapid.IntRange(0, 4).Draw(t, "deleting") == 0 {
				set.DeletionTimestamp = &set.CreationTimestamp
			}
			sets = append(sets, set)
		}
		want, equal := nativeNewSet(d, sets)
		if equal > 1 {
			several++
		}
		for _, obj := range append([]*appsv1.ReplicaSet{nil}, sets...) {
			if rapid.Bool().Draw(t, "cached") && obj != nil {
				_, _ = Strip(obj)
			}
		}
		if rapid.Bool().Draw(t, "cached") {
			_, _ = Strip(d)
		}
		v := &view{release: &v1alpha1.BatchRelease{}, workload: &deployment.Object{Deployment: d}, sets: sets, setsLive: map[types.UID]bool{}}
		o, got := v.observation(time.Now()), types.UID("")
		if set := deployment.New(o.Workload.Mover.(deployment.Mover).Sets, o.Workload.Digest); set != nil {
			got = set.UID
		}
		if got != want {
			t.Fatalf("the new ReplicaSet is %q to us, %q to the native controller", got, want)
		}
		if set := v.set(want); set != nil && o.Workload.Revision != set.Labels[appsv1.DefaultDeploymentUniqueLabelKey] {
			t.Fatalf("the revision is %q, want that of %s", o.Workload.Revision, set.Name)
		}
	})
	if several == 0 {
		t.Error("no Deployment had several ReplicaSets of its template")
	}
}

func drawTemplate(t *rapid.T) *appsv1.Deployment {
	d := unusual(rapid.SampledFrom([]string{"1Gi", "1073741824", "1024Mi", "1G"}).Draw(t, "memory"))
	if rapid.Bool().Draw(t, "selector") {
		d.Spec.Template.Spec.NodeSelector = map[string]string{}
	}
	return d
}

// nativeNewSet returns the result of FindNewReplicaSet of Kubernetes 1.36, and the number of
// ReplicaSets with the template.
func nativeNewSet(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) (types.UID, int) {
	sorted := slices.Clone(sets)
	slices.SortFunc(sorted, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	found, equal := types.UID(""), 0
	for _, set := range sorted {
		template := set.Spec.Template.DeepCopy()
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		if !equality.Semantic.DeepEqual(template, &d.Spec.Template) {
			continue
		}
		if equal++; equal == 1 {
			found = set.UID
		}
	}
	return found, equal
}
