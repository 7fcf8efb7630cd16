package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	cases := []struct {
		reason string
		pods   int32
		steps  []string
		want   []int
	}{
		{"B1", 100, []string{"10%", "50%", "100%"}, []int{10, 50, 100}},
		{"B2: a number is that many pods", 1000, []string{"1", "10%", "30%", "60%", "100%"}, []int{1, 100, 300, 600, 1000}},
		{"B3: parts of pods are rounded up", 10, []string{"25%", "50%", "75%", "100%"}, []int{3, 5, 8, 10}},
		{"no steps", 10, nil, []int{}},
	}
	for _, tc := range cases {
		got := fleet{pods: tc.pods, steps: steps(tc.steps...)}.targets()
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: updated pods at the end of each step (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// TestManualSteps: all gates but those of the last step need somebody.
func TestManualSteps(t *testing.T) {
	t.Parallel()
	all := manualSteps(4)
	if diff := cmp.Diff([]int{1, 2, 3, 4}, fleet{pods: 4, steps: all}.targets()); diff != "" {
		t.Errorf("one pod more at each step (-want +got):\n%s", diff)
	}
	manual := of(all, func(s v1alpha1.Step) bool { return s.Gates[0].Manual != nil && s.Gates[0].None == nil })
	if diff := cmp.Diff([]bool{true, true, true, false}, manual); diff != "" {
		t.Errorf("manual gates (-want +got):\n%s", diff)
	}
}

// TestReleaseIsOfTheTemplateThatRuns: else the take-over would be a release already.
func TestReleaseIsOfTheTemplateThatRuns(t *testing.T) {
	t.Parallel()
	f := fleet{deployments: 1, pods: 10, steps: steps("50%", "100%"), annotations: map[string]string{"a": "b"}}
	release, err := f.release("web")
	if err != nil {
		t.Fatal(err)
	}
	deployment := f.deployment("web")
	var given corev1.PodTemplateSpec
	if err := json.Unmarshal(release.Spec.Template.Raw, &given); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(deployment.Spec.Template, given); diff != "" {
		t.Errorf("templates (-Deployment's +release's):\n%s", diff)
	}
	if ref := release.Spec.WorkloadRef.Name; ref != deployment.Name || release.Namespace != deployment.Namespace {
		t.Errorf("the release must be of the Deployment: got %s of %s", release.Namespace, ref)
	}
	if *deployment.Spec.Replicas != 10 || deployment.Labels[appLabel] != "web" {
		t.Errorf("want 10 pods, told apart by their label: got %d, %v", *deployment.Spec.Replicas, deployment.Labels)
	}
}

func TestRuns(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*appsv1.Deployment)
		want   bool
	}{
		"All":         {"all pods run the version", func(*appsv1.Deployment) {}, true},
		"OtherImage":  {"another version", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image(1) }, false},
		"NotSeen":     {"the native controller has not looked yet", func(d *appsv1.Deployment) { d.Generation++ }, false},
		"Some":        {"not all pods are new", func(d *appsv1.Deployment) { d.Status.UpdatedReplicas-- }, false},
		"OldLeft":     {"an old pod is left", func(d *appsv1.Deployment) { d.Status.Replicas++ }, false},
		"Unavailable": {"one is not available", func(d *appsv1.Deployment) { d.Status.AvailableReplicas-- }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fleet{pods: 4}.deployment("web")
			d.Spec.Template = fleet{}.template("web", 2)
			d.Generation = 3
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 4, UpdatedReplicas: 4, AvailableReplicas: 4}
			tc.change(d)
			if got := runs(2)(d); got != tc.want {
				t.Errorf("%s: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
	if runs(1)(&v1alpha1.BatchRelease{}) {
		t.Error("a release is no Deployment")
	}
}

func TestReleased(t *testing.T) {
	t.Parallel()
	at := func(attempt int64, phase v1alpha1.Phase) *v1alpha1.BatchRelease {
		return &v1alpha1.BatchRelease{Status: v1alpha1.BatchReleaseStatus{Attempt: attempt, Phase: phase}}
	}
	cases := []struct {
		reason string
		object client.Object
		want   bool
	}{
		{"this attempt", at(2, v1alpha1.PhaseCompleted), true},
		{"the one before", at(1, v1alpha1.PhaseCompleted), false},
		{"under way", at(2, v1alpha1.PhaseFinalizing), false},
		{"no release", &appsv1.Deployment{}, false},
	}
	for _, tc := range cases {
		if got := released(2)(tc.object); got != tc.want {
			t.Errorf("%s: want %t, got %t", tc.reason, tc.want, got)
		}
	}
}

func TestAtOnce(t *testing.T) {
	t.Parallel()
	f := fleet{deployments: 3}
	var mu sync.Mutex
	var done []string
	err := f.atOnce(t.Context(), func(_ context.Context, name string) error {
		mu.Lock()
		defer mu.Unlock()
		done = append(done, name)
		return nil
	})
	slices.Sort(done)
	if diff := cmp.Diff(f.names(), done); diff != "" || err != nil {
		t.Errorf("each name must get its turn, without an error: got %v; (-want +got):\n%s", err, diff)
	}

	refused := errors.New("refused")
	err = f.atOnce(t.Context(), func(ctx context.Context, name string) error {
		if name == "app-0001" {
			return refused
		}
		<-ctx.Done() // one that fails ends the others
		return ctx.Err()
	})
	if !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "app-0001: ") {
		t.Errorf("want the first error and whose it is, got %v", err)
	}
}
