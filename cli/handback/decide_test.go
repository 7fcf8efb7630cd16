package handback

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

const rolling = `{"type":"RollingUpdate","rollingUpdate":{"maxSurge":2,"maxUnavailable":1}}`

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}}}
}

// heldDeployment is in mid-release from web:1, its stable revision, to web:2.
func heldDeployment(change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	text, err := json.Marshal(plan.Hold{Release: "web", UID: "release", Stable: "v1", HeldWorkload: v1alpha1.HeldWorkload{Strategy: rolling}})
	if err != nil {
		panic(err)
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{UID: "deployment", Annotations: map[string]string{v1alpha1.HoldAnnotation: string(text)}},
		Spec: appsv1.DeploymentSpec{
			Paused: true, Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, Template: template("web:2"),
		},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

func deployed(d *appsv1.Deployment) workload.Workload { return &deployment.Object{Deployment: d} }

// annotated are the annotations of a workload that is in mid-release from v1, with a window or none.
func annotated(window string) map[string]string {
	text, err := json.Marshal(plan.Hold{
		Release: "web", UID: "release", Stable: "v1", Window: window, HeldWorkload: v1alpha1.HeldWorkload{Strategy: rolling},
	})
	if err != nil {
		panic(err)
	}
	return map[string]string{v1alpha1.HoldAnnotation: string(text)}
}

func heldStatefulSet(partition int32, window string) workload.Workload {
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "statefulset", Annotations: annotated(window)}}
	s.Spec.Template = template("web:2")
	s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
	}
	return &statefulset.Object{StatefulSet: s}
}

func heldDaemonSet(strategy appsv1.DaemonSetUpdateStrategyType) workload.Workload {
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{UID: "daemonset", Annotations: annotated("")}}
	d.Spec.Template, d.Spec.UpdateStrategy.Type = template("web:2"), strategy
	return &daemonset.Object{DaemonSet: d}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	own := v1alpha1.HeldWorkload{Strategy: rolling}
	first := &v1alpha1.BatchRelease{} // no pass has lived to write its status
	tests := map[string]struct {
		held    workload.Workload
		release *v1alpha1.BatchRelease
		proceed bool
		want    plan.Left
	}{
		"by the annotation alone it goes back to the stable revision": {deployed(heldDeployment()), nil, false, plan.Left{HeldWorkload: own, Revision: "v1"}},
		"going on means the new template where it has the stable one for want of pods": {
			deployed(heldDeployment(func(d *appsv1.Deployment) {
				text, _ := json.Marshal(plan.Hold{Release: "web", UID: "release", Stable: "v1", Emptied: true, HeldWorkload: own})
				d.Annotations[v1alpha1.HoldAnnotation], d.Spec.Template = string(text), template("web:1")
			})), &v1alpha1.BatchRelease{Status: v1alpha1.BatchReleaseStatus{UpdateRevision: "v2", StableRevision: "v1"}}, true,
			plan.Left{HeldWorkload: own, Revision: "v2"},
		},
		"going on is what the caller may ask for": {deployed(heldDeployment()), first, true, plan.Left{HeldWorkload: own}},
		"an annotation that can't be read leaves the default strategy": {
			deployed(heldDeployment(func(d *appsv1.Deployment) { d.Annotations[v1alpha1.HoldAnnotation] = "{" })), nil, false, plan.Left{},
		},
		"what somebody has taken back already stays as they left it": {
			deployed(heldDeployment(func(d *appsv1.Deployment) {
				d.Spec.Paused, d.Spec.Strategy = false, appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType}
			})), nil, false, plan.Left{HeldWorkload: v1alpha1.HeldWorkload{Strategy: `{"type":"RollingUpdate"}`}},
		},
		"a StatefulSet is held with any partition that is not lower than the open window": {
			heldStatefulSet(3, "3"), nil, false, plan.Left{HeldWorkload: own, Revision: "v1"},
		},
		"one whose window somebody opened further was taken back": {
			heldStatefulSet(0, "3"), nil, false,
			plan.Left{HeldWorkload: v1alpha1.HeldWorkload{Strategy: `{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`}},
		},
		"a DaemonSet is held with OnDelete": {
			heldDaemonSet(appsv1.OnDeleteDaemonSetStrategyType), nil, false, plan.Left{HeldWorkload: own, Revision: "v1"},
		},
		"one that rolls was taken back": {
			heldDaemonSet(appsv1.RollingUpdateDaemonSetStrategyType), nil, false,
			plan.Left{HeldWorkload: v1alpha1.HeldWorkload{Strategy: `{"type":"RollingUpdate"}`}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, decide(test.held, test.release, test.proceed)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFresh(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	lease := func(holder string, renewed time.Time) *coordinationv1.LeaseSpec {
		return &coordinationv1.LeaseSpec{
			HolderIdentity: &holder, RenewTime: new(metav1.NewMicroTime(renewed)), LeaseDurationSeconds: new(int32(15)),
		}
	}
	tests := map[string]struct {
		lease *coordinationv1.LeaseSpec
		want  bool
	}{
		"renewed in time":   {lease("one", noon.Add(-14*time.Second)), true},
		"not renewed since": {lease("one", noon.Add(-15*time.Second)), false},
		"given back":        {lease("", noon), false},
		"never held":        {&coordinationv1.LeaseSpec{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fresh(test.lease, noon); got != test.want {
				t.Errorf("fresh = %t, want %t", got, test.want)
			}
		})
	}
}
