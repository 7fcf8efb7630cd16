package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// TestRolloutHasTheStepsOfTheRelease: a Rollout goes through the steps of a release, in percent,
// and pauses at those with a gate to open.
func TestRolloutHasTheStepsOfTheRelease(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		pods    int32
		steps   []v1alpha1.Step
		want    string
		targets []int
	}{
		"Percent": {"a share stays as it is, and half pods are rounded up, as a release has it", 10, steps("25%", "50%", "75%", "100%"), `[{"setWeight":25},{"setWeight":50},{"setWeight":75},{"setWeight":100}]`, []int{3, 5, 8, 10}},
		"Pods":    {"a Rollout knows no numbers of pods: the next higher share is taken", 1000, steps("1", "25", "100%"), `[{"setWeight":1},{"setWeight":3},{"setWeight":100}]`, []int{10, 30, 1000}},
		"Gates":   {"a gate is a pause without an end", 100, gatedSteps("50%", "100%"), `[{"setWeight":50},{"pause":{}},{"setWeight":100}]`, []int{50, 100}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fleet{deployments: 1, pods: tc.pods, steps: tc.steps}
			object, err := f.rollout("web")
			if err != nil {
				t.Fatal(err)
			}
			canary, _, _ := unstructured.NestedMap(object.Object, "spec", "strategy", "canary")
			got, err := json.Marshal(canary["steps"])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.targets, (comparison{fleet: f}).argoRollouts().targets); diff != "" {
				t.Errorf("pods at the end of each step (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRolledOut: a Rollout has been released when all its pods are new, and its status says so of
// its last change.
func TestRolledOut(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*rolloutStatus)
		want   bool
	}{
		"Done":     {"all is as it should be", func(*rolloutStatus) {}, true},
		"Stale":    {"the status is of the change before", func(s *rolloutStatus) { s.ObservedGeneration = "2" }, false},
		"Canary":   {"the new version is not the stable one yet", func(s *rolloutStatus) { s.StableRS = "v1" }, false},
		"Progress": {"it says itself that it is not done", func(s *rolloutStatus) { s.Phase = "Progressing" }, false},
		"OldPods":  {"a pod more is an old one", func(s *rolloutStatus) { s.Replicas = 11 }, false},
		"NotReady": {"a pod is not available", func(s *rolloutStatus) { s.AvailableReplicas = 9 }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, err := fleet{deployments: 1, pods: 10, steps: steps("100%")}.rollout("web")
			if err != nil {
				t.Fatal(err)
			}
			status := rolloutStatus{
				Phase: "Healthy", ObservedGeneration: "3", CurrentPodHash: "v2", StableRS: "v2", Replicas: 10, UpdatedReplicas: 10, AvailableReplicas: 10,
			}
			tc.change(&status)
			text, err := json.Marshal(status)
			if err != nil {
				t.Fatal(err)
			}
			raw := map[string]any{}
			if err := json.Unmarshal(text, &raw); err != nil {
				t.Fatal(err)
			}
			for _, field := range []string{"replicas", "updatedReplicas", "availableReplicas"} {
				raw[field] = int64(raw[field].(float64)) // as the API server's answers are decoded
			}
			object.Object["status"] = raw
			object.SetGeneration(3)
			if got := rolledOut(1)(object); got != tc.want {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.want, got)
			}
			if rolledOut(2)(object) {
				t.Error("it is of version 1, want it not to count as version 2")
			}
		})
	}
}

// TestWhoseRequestsCount: each request counts for the program that sent it, leases for none.
func TestWhoseRequestsCount(t *testing.T) {
	t.Parallel()
	cases := []struct {
		agent, resource   string
		sluice, argo, all bool
	}{
		{agent: sluiceAgent, resource: "replicasets", sluice: true, all: true},
		{agent: sluiceAgent, resource: "leases"},
		{agent: "rollouts-controller/v0.0.0 (linux/amd64) kubernetes/$Format", resource: "replicasets", argo: true, all: true},
		{agent: "rollouts-controller/v0.0.0 (linux/amd64) kubernetes/$Format", resource: "leases"},
		{agent: nativeAgent, resource: "replicasets", all: true},
		{agent: "kube-scheduler/v1.36.3 (linux/amd64) kubernetes/1234567/scheduler", resource: "pods/binding", all: true},
		{agent: "kwok/v0.8.0 (linux/amd64) kubernetes/$Format", resource: "pods/status"},
		{agent: "kube-apiserver/v1.36.3 (linux/amd64) kubernetes/1234567", resource: "services"},
		{agent: "bench/v0.0.0 (linux/amd64) kubernetes/$Format", resource: "batchreleases"},
	}
	for _, tc := range cases {
		r := controlplane.Request{UserAgent: tc.agent, Resource: tc.resource}
		got := []bool{fromSluice(r), fromArgo(r), fromControllers(r)}
		if diff := cmp.Diff([]bool{tc.sluice, tc.argo, tc.all}, got); diff != "" {
			t.Errorf("%s of %s: Sluice's, Argo's, any controller's (-want +got):\n%s", tc.resource, tc.agent, diff)
		}
	}
}
