package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestClaimsOfEachKind(t *testing.T) {
	t.Parallel()
	one, two := intstr.FromInt32(1), intstr.FromInt32(2)
	deployment := &appsv1.Deployment{
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](6), Strategy: appsv1.DeploymentStrategy{
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &two, MaxUnavailable: &one},
		}},
		Status: appsv1.DeploymentStatus{AvailableReplicas: 6},
	}
	set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](6)}, Status: appsv1.StatefulSetStatus{AvailableReplicas: 6}}
	daemons := &appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 6, NumberAvailable: 6}}
	for name, tc := range map[string]struct {
		object             client.Object
		limit              *intstr.IntOrString
		surge, unavailable int
	}{
		"Deployment": {deployment, nil, 2, 1}, "StatefulSet": {set, &two, 0, 2}, "DaemonSet": {daemons, &two, 0, 2},
	} {
		scene := newScene()
		scene.apply(tc.object, false)
		scene.apply(&v1alpha1.BatchRelease{Spec: v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{
			MaxUnavailable: tc.limit, Steps: []v1alpha1.Step{{Replicas: one}, {Replicas: intstr.FromString("50%")}, {Replicas: intstr.FromString("100%")}},
		}}}, false)
		got, err := cast{images: []string{"old", "new"}}.claimsOf(scene)
		if err != nil {
			t.Fatal(err)
		}
		want := claims{
			replicas: 6, maxSurge: tc.surge, maxUnavailable: tc.unavailable, targets: []int{1, 3, 6},
			first: "old", last: "new", images: map[string]string{},
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(claims{})); diff != "" {
			t.Errorf("what is promised of a %s (-want +got):\n%s", name, diff)
		}
		if !deployed(tc.object) || kindOf(tc.object) != name {
			t.Errorf("a %s with all pods available is deployed: got %t of a %s", name, deployed(tc.object), kindOf(tc.object))
		}
	}
	daemons.Status.NumberAvailable = 5
	set.Generation = 2
	if deployed(daemons) || deployed(set) || deployed(&appsv1.DaemonSet{}) {
		t.Error("a pod that is missing, a change that nobody has seen, and no pod at all are not deployed")
	}
}
