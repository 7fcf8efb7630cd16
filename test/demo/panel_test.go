package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func unstyled(_, text string) string { return text }

func TestPanelBeforeThereIsAnything(t *testing.T) {
	t.Parallel()
	if got := drawPanel(newScene(), "waiting", unstyled); got != nil {
		t.Errorf("with no Deployment there is nothing to show: got %q", got)
	}
}

func TestPanelAtAGate(t *testing.T) {
	t.Parallel()
	want := strings.TrimPrefix(`

  web  RollingUpdate, batch 2/3, Blocking
  ● 1 ── ◉ 30% ── ○ 100%
  nginx:1.27     ███░             3
  nginx:1.28     ██▒              3
  5 available, 1 starting, 1 ending
  3 of 10 pods are updated
  confirmed soon`, "\n")
	got := strings.Join(drawPanel(sceneAtGate(), "confirmed soon", unstyled), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the panel shows batch, pods and what is waited for (-want +got):\n%s", diff)
	}
}

func TestSceneAmongOthers(t *testing.T) {
	t.Parallel()
	s := sceneAtGate()
	s.apply(&appsv1.StatefulSet{}, false)
	want := strings.TrimPrefix(`

  StatefulSet web  RollingUpdate, batch 2/3, Blocking
  ● 1 ── ◉ 30% ── ○ 100%
  nginx:1.27     ███░             3
  nginx:1.28     ██▒              3`, "\n")
	if diff := cmp.Diff(want, strings.Join(drawScene(s, unstyled), "\n")); diff != "" {
		t.Errorf("a workload among others shows its kind, its batch and its pods (-want +got):\n%s", diff)
	}
	if got := drawScene(newScene(), unstyled); got != nil {
		t.Errorf("with no workload there is nothing to show: got %q", got)
	}
}

func TestStandingTellsAnErrorEverything(t *testing.T) {
	t.Parallel()
	want := "RollingUpdate, batch 2/3, Blocking [nginx:1.27: 3, nginx:1.28: 3]: 3 of 10 pods are updated"
	if diff := cmp.Diff(want, standing(sceneAtGate())); diff != "" {
		t.Errorf("where a release stands, in one line (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("nothing released yet []", standing(newScene())); diff != "" {
		t.Errorf("an empty scene has a line too (-want +got):\n%s", diff)
	}
}

func TestRulerOfACompletedRelease(t *testing.T) {
	t.Parallel()
	release := sceneAtGate().release
	release.Status.Phase = v1alpha1.PhaseCompleted
	if diff := cmp.Diff("● 1 ── ● 30% ── ● 100%", ruler(release, unstyled)); diff != "" {
		t.Errorf("all steps of a completed release are done (-want +got):\n%s", diff)
	}
}

func sceneAtGate() *scene {
	s := newScene()
	s.apply(&appsv1.Deployment{}, false)
	s.apply(&v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
			{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("30%")}, {Replicas: intstr.FromString("100%")},
		}}},
		Status: v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseRollingUpdate, CurrentStepIndex: 1, CurrentStepState: v1alpha1.StepBlocking, Batch: "2/3",
			Message: "3 of 10 pods are updated",
		},
	}, false)
	for name, state := range map[string]podState{"a": available, "b": available, "c": available, "d": ending} {
		s.apply(testPod(name, oldImage, state), false)
	}
	for name, state := range map[string]podState{"e": available, "f": available, "g": starting} {
		s.apply(testPod(name, newImage, state), false)
	}
	return s
}
