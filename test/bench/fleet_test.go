package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

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
