package main

import (
	"bytes"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestFollowCommand: it prints the release of a workload, and says what is wrong with what it was
// given.
func TestFollowCommand(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		code     int
		out, err string
	}{
		"deployment/web -n shop": {exitOK, `---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata:
  name: web
  namespace: shop
spec:
  follow: Workload
  strategy:
    steps:
    - replicas: 1
    - replicas: 100%
  workloadRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web
`, ""},
		"sts/db --steps=1,50%,100%": {exitOK, "- replicas: 1\n    - replicas: 50%\n    - replicas: 100%\n", ""},
		"pod/web":                   {exitUsage, "", `"pod/web" names no workload: write KIND/NAME, such as deployment/web`},
		"deployment/We_b":           {exitUsage, "", `"We_b" is not a name of a workload: `},
		"ds/agent --steps=3,1":      {exitUsage, "", "--steps: spec.strategy.steps[1].replicas: "},
		"ds/agent --steps=":         {exitUsage, "", "--steps is empty"},
		"":                          {exitUsage, "", "name one workload, such as deployment/web"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"follow"}, strings.Fields(args)...), &stdout, &stderr)
		if code != want.code || !strings.Contains(stdout.String(), want.out) || !strings.Contains(stderr.String(), want.err) {
			t.Errorf("follow %s: got %d, %q and %q; want %d, %q and %q", args, code, stdout.String(), stderr.String(), want.code, want.out, want.err)
		}
	}
}

// TestStatusOfApplied: a release that is at its end is in progress again once others have applied a
// template, though no controller has seen it yet.
func TestStatusOfApplied(t *testing.T) {
	t.Parallel()
	s := &shop{T: t, namespace: cptest.Namespace(t), kubeconfig: cptest.Access(t).Kubeconfig, client: cptest.Client(t)}
	viewer := s.viewer()
	workload := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: podTemplate("web", 1),
		},
	}
	s.create(workload)
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web", Annotations: map[string]string{v1alpha1.FollowedAnnotation: digestOf(t, workload)}},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, Follow: v1alpha1.FollowWorkload,
			Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}},
		},
	}
	s.create(release)
	release.Status.Phase, release.Status.ObservedGeneration, release.Status.Message = v1alpha1.PhaseCompleted, release.Generation, "all pods run"
	if err := s.client.Status().Update(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	s.want(s.ok(viewer, "status", "--watch=false"), "web: all pods run")

	before := workload.DeepCopy()
	workload.Annotations = map[string]string{v1alpha1.WaitingAnnotation: "false"} // as the policy notes it
	workload.Spec.Template.Spec.Containers[0].Image = "web:2"
	if err := s.client.Patch(t.Context(), workload, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"status", "--watch=false"}, {"status", "--timeout=2s"}} {
		got := s.as(viewer, args...)
		if got.code != exitUnderWay || got.stdout != "web: waits for the controller to look at the workload\n" {
			t.Errorf("%v: want a release in progress, got %+v", args, got)
		}
	}
	s.patch("web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.FollowedAnnotation: digestOf(t, workload)}}})
	s.want(s.ok(viewer, "status"), "web: all pods run")
}

func digestOf(t *testing.T, workload *appsv1.Deployment) string {
	t.Helper()
	digest, err := podtemplate.Digest(&workload.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}
