package examples_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/gitsync/spec"
)

// TestKindsAsInGit: the API server refuses for each kind what the reader of manifests refuses, in
// the same words.
func TestKindsAsInGit(t *testing.T) {
	t.Parallel()
	server := strictServer(t)
	settings := []string{
		"maxUnavailable: 1", "maxSurge: 1", "podReplacement: Terminated", "allowMixedVersions: true", "allowMixedVersions: false",
		"order: [{age: OldestFirst}]", "order: []", "pausePoints: true", "pausePoints: false", "stepBack: RemovePods", "stepBack: KeepPods",
		"maxSurge: 1\n    podReplacement: Terminated\n    pausePoints: true\n    stepBack: RemovePods",
	}
	refused := 0
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CloneSet"} {
		for _, setting := range settings {
			text := releaseWith(kind, setting)
			result, err := spec.NewReader(spec.Options{Namespace: "shop"}).Read(fstest.MapFS{"r.yaml": {Data: []byte(text)}}, ".")
			if err != nil {
				t.Fatal(err)
			}
			answer := ""
			if err := server.Create(t.Context(), objectOf(t, []byte(text)), client.DryRunAll); err != nil {
				answer = err.Error()
			}
			if (answer == "") != (len(result.Errors) == 0) {
				t.Errorf("%s with %s: the API server says %q, and the reader %v", kind, setting, answer, result.Errors)
			}
			for _, problem := range result.Errors {
				refused++
				field, why, _ := strings.Cut(problem.Message, ": ")
				_, why, _ = strings.Cut(why, ": ")
				if kind == "ReplicaSet" || kind == "CloneSet" {
					why = "only apps/v1 Deployment, StatefulSet and DaemonSet can be released"
				}
				if !strings.Contains(answer, field) || !strings.Contains(answer, why) {
					t.Errorf("%s with %s: the API server says %q, and the reader %q", kind, setting, answer, problem.Message)
				}
			}
		}
	}
	if refused < 2*len(settings)+10 {
		t.Errorf("no more than %d settings were refused", refused)
	}
}

// releaseWith returns a release of a workload of a kind, with a setting.
func releaseWith(kind, setting string) string {
	return `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps/v1, kind: ` + kind + `, name: web}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}
  strategy:
    ` + setting + `
    steps: [{replicas: 100%}]
`
}
