package rollout

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// A release that an earlier version of Sluice began goes on: what that wrote down of a template, by its own
// rule for digests, is known again.
func TestDigestsOfAnEarlierVersionAreKnownAgain(t *testing.T) {
	t.Parallel()
	for name, cached := range map[string]bool{"read live": false, "from the cache": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full := unusual("1073741824")
			former, err := podtemplate.Former(&full.Spec.Template)
			if err != nil {
				t.Fatal(err)
			}
			digest := digestOf(&full.Spec.Template)
			if former == digest {
				t.Fatal("the template has the same digest by both rules: the test shows nothing")
			}
			d, set := full.DeepCopy(), &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: unusual("2147483648").Spec.Template}}
			older, _ := podtemplate.Former(&set.Spec.Template)
			if cached {
				stripped(t, d)
				stripped(t, set)
			}
			v := &view{release: &v1alpha1.BatchRelease{}, workload: &workload.Deployment{Deployment: d}, sets: []*appsv1.ReplicaSet{set}, setsLive: map[types.UID]bool{}}
			v.release.Status.Resolved = &v1alpha1.ResolvedTemplate{Given: "given", Digest: former}
			v.release.Status.Queued = &v1alpha1.QueuedTemplate{ResolvedTemplate: v1alpha1.ResolvedTemplate{Digest: "another"}}
			v.facts.Kept = []plan.Kept{{Revision: "1", Digest: former}, {Revision: "2", Digest: older}}

			o := v.observation(time.Now())
			status := o.Release.Status
			if status.Resolved.Digest != o.Workload.Digest || o.Kept[0].Digest != o.Workload.Digest || o.Kept[1].Digest != digestOfSet(set) {
				t.Errorf("resolved %s, kept %v, want those of the Deployment, %s, and of its ReplicaSet, %s",
					status.Resolved.Digest, o.Kept, o.Workload.Digest, digestOfSet(set))
			}
			if status.Queued.Digest != "another" {
				t.Errorf("queued %s, want it left: it is of no template that is there", status.Queued.Digest)
			}
			if v.release.Status.Resolved.Digest != former || v.facts.Kept[0].Digest != former {
				t.Error("the view itself is changed, want what is stored: the status would not be written")
			}
		})
	}
}

func unusual(memory string) *appsv1.Deployment {
	d := unstripped()
	d.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	return d
}

func stripped(t *testing.T, obj any) {
	t.Helper()
	if _, err := Strip(obj); err != nil {
		t.Fatal(err)
	}
}
