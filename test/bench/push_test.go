package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestMilestones has, of each kind of object, one that has got there and ones that have not.
func TestMilestones(t *testing.T) {
	t.Parallel()
	came := time.Date(2026, 11, 21, 12, 0, 0, 500, time.UTC)
	p := pushed{commit: "c2", version: 2, came: came}
	annotated := func(key, value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "web", Annotations: map[string]string{key: value}}
	}
	asked := func(at time.Time) client.Object {
		return &v1alpha1.ReleaseSource{ObjectMeta: annotated(v1alpha1.RequestedAtAnnotation, at.Format(time.RFC3339Nano))}
	}
	template := func(version int) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image(version)}}}}
	}
	set := func(version int, replicas int32) client.Object {
		return &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Template: template(version)}}
	}
	deployment := func(version int) client.Object {
		return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template(version)}}
	}
	objects := [][]struct {
		object client.Object
		there  bool
	}{
		{{asked(came), true}, {asked(came.Add(-time.Nanosecond)), false}, {&v1alpha1.ReleaseSource{}, false}},
		{
			{&v1alpha1.BatchRelease{ObjectMeta: annotated(v1alpha1.CommitAnnotation, "c2")}, true},
			{&v1alpha1.BatchRelease{ObjectMeta: annotated(v1alpha1.CommitAnnotation, "c1")}, false},
		},
		{{deployment(2), true}, {deployment(1), false}},
		{{set(2, 1), true}, {set(2, 0), false}, {set(1, 1), false}},
		{
			{&corev1.Pod{ObjectMeta: annotated(versionAnnotation, "2")}, true},
			{&corev1.Pod{ObjectMeta: annotated(versionAnnotation, "1")}, false},
		},
	}
	for i, m := range milestones {
		at := m.at(p)
		for kind := range objects {
			for _, tt := range objects[kind] {
				if got, want := at(tt.object), tt.there && kind == i; got != want {
					t.Errorf("%s: got %t for %T, want %t", m.label, got, tt.object, want)
				}
			}
		}
	}
}

func TestReportOfPushes(t *testing.T) {
	t.Parallel()
	var samples []pushSample
	for i := range 20 {
		n := time.Duration(i+1) * ms
		samples = append(samples, pushSample{answered: n, until: []time.Duration{n, 2 * n, 3 * n, 4 * n, 25 * n}})
	}
	const want = `B0  pushes
                                          Sluice            wanted
  webhook until first pod, median of 20   275 ms
    p95                                   500 ms            <= 500 ms   met
    worst                                 500 ms
  on the way, median (p95), until
    webhook answered                      11 ms (20 ms)
    source asked to look                  11 ms (20 ms)
    Git read, release written             22 ms (40 ms)
    Deployment taken over                 33 ms (60 ms)
    ReplicaSet scaled up                  44 ms (80 ms)
    its first pod (native controller)     275 ms (500 ms)

`
	p := pushes{goal: 500 * ms}
	if diff := cmp.Diff(want, printed(t, p.report(samples), "B0", "pushes")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	p.goal = 500*ms - 1
	if diff := cmp.Diff(map[string]verdict{"p95": missed}, verdicts(p.report(samples))); diff != "" {
		t.Errorf("verdict just below (-want +got):\n%s", diff)
	}
}
