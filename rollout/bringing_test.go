package rollout

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestKeptTemplateGetsNewDefaults: a kept template that the API server completes by a default that
// it did not have before is still the one of its ReplicaSet, which has the default too. Without the
// ReplicaSet it is another template, as admission may have made it.
func TestKeptTemplateGetsNewDefaults(t *testing.T) {
	t.Parallel()
	after := seen(t, strings.Replace(withWeb1, `"spec":{"containers"`, `"spec":{"terminationGracePeriodSeconds":30,"containers"`, 1)).workload
	kept := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-v1.sluice", Labels: map[string]string{v1alpha1.ReleaseLabel: "web"}}}
	kept.Data = runtime.RawExtension{Raw: []byte(web1)}
	c := &recorder{workload: withWeb1, revisions: map[string]*appsv1.ControllerRevision{kept.Name: kept}}
	r := newReconciler(&cluster{client: c, live: c, clock: clock.RealClock{}})
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-v1", UID: "s", Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "v1"}}}
	set.Spec.Template = after.(*deployment.Object).Spec.Template
	for name, test := range map[string]struct {
		sets []*appsv1.ReplicaSet
		want bool
	}{
		"its ReplicaSet is there": {[]*appsv1.ReplicaSet{set}, true},
		"it has none any more":    {nil, false},
	} {
		v := seen(t, withWeb1)
		v.sets, v.facts.Kept = test.sets, []plan.Kept{{Name: kept.Name, Revision: "v1"}}
		back, err := r.workloads.bringing(t.Context(), v, new(jsonpatch.Patch), &plan.Template{Revision: "v1"}, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := back.by(v, v.workload, after, nil); got != test.want {
			t.Errorf("%s: the workload has the kept template: %t, want %t", name, got, test.want)
		}
	}
}
