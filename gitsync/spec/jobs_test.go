package spec

import (
	"encoding/json"
	"strings"
	"testing"
)

const (
	jobRelease = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy:
    steps:
    - replicas: 0
      gates:
      - job: {name: migrate}
    - replicas: 100%
      gates:
      - job: {name: smoke, template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: s, image: smoke:1}]}}}}}
  rollback:
    steps:
    - replicas: 1
      gates:
      - job: {name: migrate}
    - replicas: 100%
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web:1}]}}
`
	migrateJob = `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, labels: {app: migrate}}
spec:
  suspend: true
  template:
    spec: {restartPolicy: Never, containers: [{name: m, image: migrate:1}]}
`
)

// TestJobTemplateOfManifest: a job gate without a template gets that of the Job of its name, also
// in the steps of a rollback, and one with a template keeps it.
func TestJobTemplateOfManifest(t *testing.T) {
	t.Parallel()
	result := read(t, map[string]string{"web.yaml": jobRelease, "jobs/migrate.yaml": migrateJob})
	wantErrors(t, result)
	if len(result.Releases) != 1 {
		t.Fatalf("want the release, got %v", names(result))
	}
	text, _ := json.Marshal(result.Releases[0].Object())
	if got := strings.Count(string(text), `"migrate:1"`); got != 2 {
		t.Errorf("want the template of the Job in both gates, got %d in %s", got, text)
	}
	if !strings.Contains(string(text), `"metadata":{"labels":{"app":"migrate"}}`) || !strings.Contains(string(text), `"smoke:1"`) {
		t.Errorf("want the labels of the Job, and the template of the other gate as it was, got %s", text)
	}
	other := read(t, map[string]string{"web.yaml": jobRelease, "jobs/migrate.yaml": strings.ReplaceAll(migrateJob, "migrate:1", "migrate:2")})
	if len(other.Releases) != 1 || other.Releases[0].Digest == result.Releases[0].Digest {
		t.Error("want a change of the Job to change the release")
	}
}

// TestJobTemplateOfKustomization: the images and names of a kustomization reach the Job.
func TestJobTemplateOfKustomization(t *testing.T) {
	t.Parallel()
	result := read(t, map[string]string{
		"kustomization.yaml": "resources: [web.yaml, migrate.yaml]\nnamePrefix: eu-\nimages: [{name: migrate, newTag: '7'}]\n",
		"web.yaml":           jobRelease + "---\n" + webDeployment, "migrate.yaml": migrateJob,
	})
	wantErrors(t, result)
	text, _ := json.Marshal(result.Releases[0].Object())
	if !strings.Contains(string(text), `"migrate:7"`) || !strings.Contains(string(text), `"name":"eu-migrate"`) {
		t.Errorf("want the Job as the kustomization has it, got %s", text)
	}
}

// webDeployment is the workload of jobRelease.
const webDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web:1}]}}}
`

// TestJobTemplateErrors: a Job that is missing, there twice or invalid is an error with its place.
// A Job that no gate names is none.
func TestJobTemplateErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"Missing": {map[string]string{}, []string{
			"web.yaml:10: spec.strategy.steps[0].gates[0].job: template is missing, and Job shop/migrate (batch/v1), whose spec it would be, is not in ",
			"web.yaml:18: spec.rollback.steps[0].gates[0].job: template is missing",
		}},
		"InAnotherNamespace": {map[string]string{"a.yaml": strings.Replace(migrateJob, "name: migrate,", "name: migrate, namespace: extra,", 1)}, []string{
			"web.yaml:10: spec.strategy.steps[0].gates[0].job: template is missing", "web.yaml:18: ",
		}},
		"Twice": {map[string]string{"a.yaml": migrateJob, "b.yaml": migrateJob}, []string{
			"web.yaml:10: spec.strategy.steps[0].gates[0].job: Job shop/migrate is in a.yaml:1 and in b.yaml:1", "web.yaml:18: ",
		}},
		"NoCompletions": {map[string]string{"a.yaml": strings.Replace(migrateJob, "suspend: true", "completions: 0", 1)}, []string{
			"a.yaml:5: Job shop/migrate runs for a gate of BatchRelease web: spec.completions: Invalid value: 0",
		}},
		"ManualSelector": {map[string]string{"a.yaml": strings.Replace(migrateJob, "suspend: true", "manualSelector: true", 1)}, []string{
			"a.yaml:4: Job shop/migrate runs for a gate of BatchRelease web: spec.selector: Forbidden",
		}},
		"AnotherController": {map[string]string{"a.yaml": strings.Replace(migrateJob, "suspend: true", "managedBy: example.com/mine", 1)}, []string{
			"a.yaml:5: Job shop/migrate runs for a gate of BatchRelease web: spec.managedBy: Forbidden",
		}},
		"AlwaysRestarts": {map[string]string{"a.yaml": strings.Replace(migrateJob, "restartPolicy: Never, ", "", 1)}, []string{
			"a.yaml:7: Job shop/migrate runs for a gate of BatchRelease web: spec.template.spec.restartPolicy: Unsupported value",
		}},
		"OfAnotherType": {map[string]string{"a.yaml": strings.Replace(migrateJob, "suspend: true", "backoffLimit: many", 1)}, []string{
			"a.yaml:4: Job shop/migrate runs for a gate of BatchRelease web: spec: Invalid value",
		}},
		"VariableOfFlux": {map[string]string{"a.yaml": strings.Replace(migrateJob, "image: migrate:1", "image: 'migrate:${TAG}'", 1)}, []string{
			"a.yaml:7: spec.template.spec.containers[0].image: ${TAG}",
		}},
		"OthersDoNotMatter": {map[string]string{
			"a.yaml": migrateJob, "b.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: x-}\nspec: {completions: 0}\n",
			"c.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: other}\nspec: 7\n",
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.files["web.yaml"] = jobRelease
			wantErrors(t, read(t, tc.files), tc.want...)
		})
	}
}
