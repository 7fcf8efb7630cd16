package lint_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/cli/lint"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1.28
`

const release = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy:
    steps:
    - replicas: 1
    - replicas: 100%
`

// check reads files as the controller would for a source in namespace shop.
func check(t *testing.T, files map[string]string) *lint.Report {
	t.Helper()
	tree := fstest.MapFS{}
	for path, text := range files {
		tree[path] = &fstest.MapFile{Data: []byte(text)}
	}
	builder := sandbox.NewPool(sandbox.Options{}).For(t.Context(), sandbox.Owner{})
	report, err := lint.Check(tree, ".", spec.Options{Namespace: "shop", Builder: builder}, nil)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	return report
}

func findings(report *lint.Report) []string {
	var got []string
	for _, f := range report.Findings {
		got = append(got, fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Severity, f.Message))
	}
	return got
}

func TestCheck(t *testing.T) {
	t.Parallel()
	template := "  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}\n"
	cases := map[string]struct {
		reason              string
		release, deployment string
		want                []string
	}{
		"Good": {"nothing is said of what is right", release, deployment, nil},
		"Rules": {
			"the rules are the controller's, and all that is wrong is said at once",
			strings.Replace(release, "replicas: 1\n", "replica: 1\n", 1) + "    onFailure: 7\n", deployment,
			[]string{
				"release.yaml:8:7: error: spec.strategy.steps[0].replica: unknown field; did you mean replicas?",
				`release.yaml:10:5: error: spec.strategy.onFailure: must be a string, not the number 7: put it into quotes`,
			},
		},
		"Broken": {"what is no YAML has a line", "kind: BatchRelease\na: [\n", "", []string{"release.yaml:2:1: error: broken YAML: did not find expected node content"}},
		"NoDeployment": {
			"a release waits for a Deployment that is not there", release + template, "",
			[]string{"release.yaml:5:56: warning: spec.workloadRef.name: Deployment shop/web is not among these files: the release waits until the cluster has it"},
		},
		"Selector": {
			"the API server would refuse the template", release, strings.Replace(deployment, "labels: {app: web}", "labels: {app: wep}", 1),
			[]string{"deployment.yaml:7:16: error: spec.template.metadata.labels: the API server refuses a template that the selector of Deployment web does not match"},
		},
		"SelectorOfRelease": {
			"it is said where the template stands", release + strings.Replace(template, "app: web", "app: wep", 1), deployment,
			[]string{"release.yaml:10:25: error: spec.template.metadata.labels: the API server refuses a template that the selector of Deployment web does not match"},
		},
		"Recreate": {
			"a Deployment that asks for one version at a time is not released with two", release,
			strings.Replace(deployment, "spec:\n", "spec:\n  strategy:\n    type: Recreate\n", 1),
			[]string{`deployment.yaml:6:5: error: spec.strategy.type: Deployment "web" has strategy Recreate, and a release in batches runs two versions at once: ` +
				"set spec.strategy.allowMixedVersions: true in the BatchRelease if they get along, or strategy RollingUpdate in the Deployment; " +
				"or scale the Deployment to 0 until it is released"},
		},
		"RecreateAllowed": {
			"the release may say that its versions get along", release + "    allowMixedVersions: true\n",
			strings.Replace(deployment, "spec:\n", "spec:\n  strategy: {type: Recreate}\n", 1), nil,
		},
		"RecreateEmpty": {
			"without pods there is nothing to mix", release,
			strings.Replace(deployment, "spec:\n", "spec:\n  replicas: 0\n  strategy: {type: Recreate}\n", 1), nil,
		},
		"NoSelector": {
			"a Deployment must have a selector", release, strings.Replace(deployment, "  selector: {matchLabels: {app: web}}\n", "", 1),
			[]string{"deployment.yaml:6:16: error: spec.template.metadata.labels: the API server refuses a template that the selector of Deployment web does not match"},
		},
		"Typo": {
			"a field that Kubernetes does not know is a typo", release, strings.Replace(deployment, "image:", "imagee:", 1),
			[]string{"deployment.yaml:11:9: warning: spec.template.spec.containers[0].imagee: unknown field, as of Kubernetes 1.37: the API server drops or refuses it"},
		},
		"DeploymentType": {
			"a Deployment can be wrong beside its template", release, strings.Replace(deployment, "spec:\n", "spec:\n  replicas: many\n", 1),
			[]string{"deployment.yaml:5:3: error: spec.replicas: must not be a string: the API server refuses the Deployment"},
		},
		"Unpassable": {
			"nobody could approve", strings.Replace(release, "- replicas: 1\n", "- replicas: 1\n      gates: [{pullRequest: {minApprovals: 2, approvers: [ada, Ada]}}]\n", 1), deployment,
			[]string{"release.yaml:9:30: error: spec.strategy.steps[0].gates[0].pullRequest.minApprovals: Invalid value: 2: can't pass: approvers names 1 and no team is given"},
		},
		"ComparesNothing": {
			"the last step leaves no old pods", strings.Replace(release, "- replicas: 100%\n",
				"- replicas: 100%\n      gates: [{metrics: {provider: prometheus, metrics: [{name: e, compare: {requests: r, errors: e}}]}}]\n", 1), deployment,
			[]string{"release.yaml:10:68: error: spec.strategy.steps[1].gates[0].metrics.metrics[0].compare: Forbidden: after the last step no pod of the old version " +
				"is left to compare with: move the gate to the step before, or make it a guard"},
		},
		"NoRoom": {
			"both limits may come from both manifests", release + "    maxSurge: 0%\n",
			strings.Replace(deployment, "spec:\n", "spec:\n  strategy: {rollingUpdate: {maxUnavailable: 0}}\n", 1),
			[]string{"release.yaml:6:3: warning: spec.strategy: maxSurge and maxUnavailable are both 0, which leaves no room: one pod may be unavailable all the same"},
		},
		"Deadline": {
			"pods that are not available in time fail the release", release + "    progressDeadlineSeconds: 30\n",
			strings.Replace(deployment, "spec:\n", "spec:\n  minReadySeconds: 30\n", 1),
			[]string{"release.yaml:10:5: warning: spec.strategy.progressDeadlineSeconds: no pod is available within 30 s, since minReadySeconds of Deployment web is 30"},
		},
		"OneByOne": {
			"pods of a StatefulSet that go together come back one by one", set(release) + "    maxUnavailable: 3\n", set(deployment),
			[]string{"release.yaml:10:5: warning: spec.strategy.maxUnavailable: StatefulSet web has podManagementPolicy OrderedReady: " +
				"pods that go together come back one by one, the lowest ordinal first"},
		},
		"OneByOnePercent": {
			"a share may be several", set(release) + "    maxUnavailable: 30%\n", set(deployment),
			[]string{"release.yaml:10:5: warning: spec.strategy.maxUnavailable: StatefulSet web has podManagementPolicy OrderedReady: " +
				"pods that go together come back one by one, the lowest ordinal first"},
		},
		"One": {"one at a time comes back alone", set(release) + "    maxUnavailable: 1\n", set(deployment), nil},
		"Parallel": {
			"pods that need not wait for each other come back together", set(release) + "    maxUnavailable: 3\n",
			strings.Replace(set(deployment), "spec:\n", "spec:\n  podManagementPolicy: Parallel\n", 1), nil,
		},
		"NoRoomInPlace": {
			"there is no surge to make room", set(release) + "    maxUnavailable: 0\n", set(deployment),
			[]string{"release.yaml:10:5: warning: spec.strategy: maxUnavailable is 0, which leaves no room: one pod may be unavailable all the same"},
		},
		"DeadlineOfStatefulSet": {
			"pods that are not available in time fail the release", set(release) + "    progressDeadlineSeconds: 30\n",
			strings.Replace(set(deployment), "spec:\n", "spec:\n  minReadySeconds: 30\n", 1),
			[]string{"release.yaml:10:5: warning: spec.strategy.progressDeadlineSeconds: no pod is available within 30 s, since minReadySeconds of StatefulSet web is 30"},
		},
		"NoDaemonSet": {
			"a Deployment of that name is another workload", strings.Replace(release, "kind: Deployment", "kind: DaemonSet", 1) + template, deployment,
			[]string{"release.yaml:5:55: warning: spec.workloadRef.name: DaemonSet shop/web is not among these files: the release waits until the cluster has it"},
		},
		"SelectorOfDaemonSet": {
			"the API server would refuse the template", strings.Replace(release, "kind: Deployment", "kind: DaemonSet", 1),
			strings.NewReplacer("labels: {app: web}", "labels: {app: wep}", "kind: Deployment", "kind: DaemonSet").Replace(deployment),
			[]string{"deployment.yaml:7:16: error: spec.template.metadata.labels: the API server refuses a template that the selector of DaemonSet web does not match"},
		},
		"StatefulSetType": {
			"a StatefulSet can be wrong beside its template", set(release), strings.Replace(set(deployment), "spec:\n", "spec:\n  serviceName: 5\n", 1),
			[]string{"deployment.yaml:5:3: error: spec.serviceName: must not be a number: the API server refuses the StatefulSet"},
		},
		"OneByOneStep": {
			"a step may let more go than the release", set(strings.Replace(release, "replicas: 1\n", "replicas: 1\n      maxUnavailable: 3\n", 1)) + "    maxUnavailable: 1\n", set(deployment),
			[]string{"release.yaml:9:7: warning: spec.strategy.steps[0].maxUnavailable: StatefulSet web has podManagementPolicy OrderedReady: " +
				"pods that go together come back one by one, the lowest ordinal first"},
		},
		"NoRoomInStep": {
			"a step may leave less room than the release", set(strings.Replace(release, "replicas: 1\n", "replicas: 1\n      maxUnavailable: 0\n", 1)) + "    maxUnavailable: 1\n", set(deployment),
			[]string{"release.yaml:9:7: warning: spec.strategy.steps[0]: maxUnavailable is 0, which leaves no room: one pod may be unavailable all the same"},
		},
		"StrategyOfDeployment": {
			"a StatefulSet was made out of a Deployment", set(release), strings.Replace(set(deployment), "spec:\n", "spec:\n  strategy: {type: RollingUpdate}\n", 1),
			[]string{"deployment.yaml:5:3: warning: spec.strategy: unknown field, as of Kubernetes 1.37: the API server refuses to create a StatefulSet with it; " +
				"did you mean spec.updateStrategy?"},
		},
		"BelowZero": {
			"the types are right, and no API server takes the numbers", set(release),
			strings.Replace(set(deployment), "spec:\n", "spec:\n  replicas: -1\n  ordinals: {start: -5}\n  updateStrategy: {rollingUpdate: {partition: -2}}\n", 1),
			[]string{
				"deployment.yaml:5:3: error: spec.replicas: must not be below 0: the API server refuses the StatefulSet",
				"deployment.yaml:6:14: error: spec.ordinals.start: must not be below 0: the API server refuses the StatefulSet",
				"deployment.yaml:7:36: error: spec.updateStrategy.rollingUpdate.partition: must not be below 0: the API server refuses the StatefulSet",
			},
		},
		"FromZero": {
			"0 is where ordinals start", set(release), strings.Replace(set(deployment), "spec:\n", "spec:\n  ordinals: {start: 0}\n", 1), nil,
		},
		"ReplicasOfDaemonSet": {
			"a DaemonSet has a pod on each node", strings.Replace(release, "kind: Deployment", "kind: DaemonSet", 1),
			strings.Replace(strings.Replace(deployment, "kind: Deployment", "kind: DaemonSet", 1), "spec:\n", "spec:\n  replicas: 3\n", 1),
			[]string{"deployment.yaml:5:3: warning: spec.replicas: unknown field, as of Kubernetes 1.37: the API server refuses to create a DaemonSet with it"},
		},
		"Surge": {
			"nothing would follow it", set(release) + "    maxSurge: 1\n", set(deployment),
			[]string{"release.yaml:10:5: error: spec.strategy.maxSurge: Forbidden: is for Deployments: pods of a StatefulSet or DaemonSet are replaced in place, within maxUnavailable"},
		},
		"CloneSet": {
			"other kinds have controllers of their own", strings.Replace(release, "apps/v1, kind: Deployment", "apps.kruise.io/v1alpha1, kind: CloneSet", 1), "",
			[]string{`release.yaml:5:3: error: spec.workloadRef: Invalid value: "apps.kruise.io/v1alpha1 CloneSet": only apps/v1 Deployment, StatefulSet and DaemonSet can be released: ` +
				"set apiVersion: apps/v1, and kind: Deployment, StatefulSet or DaemonSet"},
		},
		"Nothing": {"a folder without releases is probably the wrong one", "", deployment, []string{".:0:0: warning: there is no BatchRelease: nothing here is released"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := findings(check(t, map[string]string{"release.yaml": tc.release, "deployment.yaml": tc.deployment}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// set makes a manifest one of a StatefulSet.
func set(manifest string) string {
	return strings.Replace(manifest, "kind: Deployment", "kind: StatefulSet", 1)
}

// TestKustomization: objects built by kustomize are reviewed, and reported with their source file.
func TestKustomization(t *testing.T) {
	t.Parallel()
	got := findings(check(t, map[string]string{
		"kustomization.yaml": "resources: [base.yaml, release.yaml]\nlabels: [{pairs: {tier: front}, includeSelectors: true}]\n",
		"base.yaml":          strings.Replace(deployment, "image:", "imagee:", 1), "release.yaml": release,
	}))
	want := []string{"base.yaml:11:9: warning: spec.template.spec.containers[0].imagee: unknown field, as of Kubernetes 1.37: the API server drops or refuses it"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestGenerated: a generated object is applied by another tool, or the pods can't start.
func TestGenerated(t *testing.T) {
	t.Parallel()
	got := findings(check(t, map[string]string{
		"kustomization.yaml": "resources: [base.yaml, release.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=b]}, {name: unused, literals: [a=b]}]\n",
		"base.yaml":          strings.Replace(deployment, "image: nginx:1.28", "image: nginx:1.28\n        envFrom: [{configMapRef: {name: settings}}]", 1), "release.yaml": release,
	}))
	want := []string{"base.yaml:6:3: warning: spec.template: ConfigMap settings-4h2mbtbbt6 is generated by kustomization.yaml, and Sluice applies no ConfigMaps and Secrets: " +
		"unless something else applies it first, the new pods can't start"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUnusedConfig: a ConfigMap that no pod reads is released for nothing.
func TestUnusedConfig(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"release.yaml": strings.Replace(release, "  strategy:", "  config: [{configMap: settings}]\n  strategy:", 1), "web.yaml": deployment,
		"settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n",
	}
	got := findings(check(t, files))
	if len(got) != 1 || !strings.Contains(got[0], "warning: spec.config: no volume and no environment variable of the template names ConfigMap settings") {
		t.Errorf("want a warning of the ConfigMap, got %v", got)
	}
	files["web.yaml"] = strings.Replace(deployment, "image: nginx:1.28", "image: nginx:1.28\n        envFrom: [{configMapRef: {name: settings}}]", 1)
	if got := findings(check(t, files)); len(got) > 0 {
		t.Errorf("want no warning where a pod reads it, got %v", got)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	report := &lint.Report{Files: 2, Releases: 1, Findings: []lint.Finding{
		{File: "a,b:c.yaml", Line: 7, Column: 5, Severity: lint.Error, Message: "50% is\nno number"},
		{File: "apps", Severity: lint.Warning, Message: "there is no BatchRelease"},
	}}
	for format, want := range map[plain.Format]string{
		plain.Text: "a,b:c.yaml:7:5: error: 50% is no number\napps: warning: there is no BatchRelease\n1 release in 2 files: 1 error, 1 warning\n",
		plain.GitHub: "::error file=a%2Cb%3Ac.yaml,line=7,col=5,title=sluice lint::50%25 is%0Ano number\n" +
			"::warning file=apps,title=sluice lint::there is no BatchRelease\n1 release in 2 files: 1 error, 1 warning\n",
		plain.JSON: `{
  "files": 2,
  "releases": 1,
  "errors": 1,
  "warnings": 1,
  "findings": [
    {
      "file": "a,b:c.yaml",
      "line": 7,
      "column": 5,
      "severity": "error",
      "message": "50% is\nno number"
    },
    {
      "file": "apps",
      "severity": "warning",
      "message": "there is no BatchRelease"
    }
  ]
}
`,
	} {
		var got strings.Builder
		if err := report.Write(&got, format); err != nil {
			t.Fatalf("write %s: %v", format, err)
		}
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", format, diff)
		}
	}
}

// TestErr: errors always count, warnings where that is requested.
func TestErr(t *testing.T) {
	t.Parallel()
	warned := &lint.Report{Findings: []lint.Finding{{Severity: lint.Warning}}}
	for name, tc := range map[string]struct {
		report *lint.Report
		strict bool
		want   string
	}{
		"Clean":  {&lint.Report{}, true, ""},
		"Warned": {warned, false, ""},
		"Strict": {warned, true, "no errors, 1 warning"},
		"Error":  {&lint.Report{Findings: []lint.Finding{{Severity: lint.Error}}}, false, "1 error, no warnings"},
	} {
		got := ""
		if err := tc.report.Err(tc.strict); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s: want %q, got %q", name, tc.want, got)
		}
	}
}
