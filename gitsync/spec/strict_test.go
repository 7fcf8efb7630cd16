package spec

import (
	"strings"
	"testing"
)

// TestWrongReleases: each text stands below spec: of a BatchRelease, from line 7.
func TestWrongReleases(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		spec string
		want []string
	}{
		{"unknown field", strategy + template + "onFailure: Pause", []string{"9: spec.onFailure: unknown field"}},
		{"unknown field deep down", template + `
strategy:
  steps:
  - replicas: 1
    gates:
    - soak: {duration: 1m}
    - soak:
        duration: 1m
        jitter: 1s
  - replicas: 100%
`, []string{"16: spec.strategy.steps[0].gates[1].soak.jitter: unknown field"}},
		{"misspelt", template + "strategy:\n  Steps: [{replicas: 100%}]", []string{"9: spec.strategy.Steps: unknown field; did you mean steps?"}},
		{"several", strategy + template + "a: 1\nb: 2", []string{"9: spec.a: unknown field", "10: spec.b: unknown field"}},
		{"no strategy", template, []string{"5: spec.strategy.steps: Required value: at least one step"}},
		{"no steps", template + "strategy: {steps: []}", []string{"8: spec.strategy.steps: Required value"}},
		{"steps are no list", template + "strategy:\n  steps: {replicas: 1}", []string{"9: spec.strategy.steps: must be a list, not an object"}},
		{"null", template + "strategy:\n  steps:\n  -\n  - replicas: 100%", []string{"10: spec.strategy.steps[0]: must not be null"}},
		{"manual without braces", template + "strategy:\n  steps:\n  - replicas: 1\n    gates:\n    - manual:\n  - replicas: 100%",
			[]string{"12: spec.strategy.steps[0].gates[0].manual: must not be null: write {}"}},
		{"51 steps", template + "strategy:\n  steps:\n" + strings.Repeat("  - replicas: 1\n", 50) + "  - replicas: 100%",
			[]string{"9: spec.strategy.steps: Too many: 51: must have at most 50 items"}},
		{"last is not all", template + "strategy:\n  steps:\n  - replicas: 1\n  - replicas: 99%",
			[]string{`11: spec.strategy.steps[1].replicas: Invalid value: "99%": the last step must be 100%`}},
		{"last is a number", template + "strategy:\n  steps:\n  - replicas: 100", []string{"10: spec.strategy.steps[0].replicas: Invalid value"}},
		{"decreasing", template + "strategy:\n  steps:\n  - replicas: 5\n  - replicas: 3\n  - replicas: 50%\n  - replicas: 30%\n  - replicas: 100%",
			[]string{"11: spec.strategy.steps[1].replicas: Invalid value: \"3\": must not be less", "13: spec.strategy.steps[3].replicas: Invalid value: \"30%\": must not be less"}},
		{"decreasing rollback", template + strategy + "rollback: {steps: [{replicas: 2}, {replicas: 1}, {replicas: 100%}]}", []string{"9: spec.rollback.steps[1].replicas: Invalid value"}},
		{"101%", template + "strategy:\n  steps:\n  - replicas: 101%\n  - replicas: 100%",
			[]string{"10: spec.strategy.steps[0].replicas: Invalid value: \"101%\": 101 percent"}},
		{"negative", template + "strategy:\n  steps:\n  - replicas: -1\n  - replicas: 100%", []string{"10: spec.strategy.steps[0].replicas: Invalid value: \"-1\": -1 pods"}},
		{"fraction", template + "strategy:\n  steps:\n  - replicas: 1.5\n  - replicas: 100%", []string{"10: spec.strategy.steps[0].replicas: "}},
		{"two types in a gate", template + "strategy:\n  steps:\n  - replicas: 1\n    gates:\n    - manual: {}\n      none: {}\n  - replicas: 100%",
			[]string{"13: spec.strategy.steps[0].gates[0].none: Forbidden"}},
		{"empty gate", template + "strategy:\n  steps:\n  - replicas: 1\n    gates:\n    - {}\n  - replicas: 100%",
			[]string{"12: spec.strategy.steps[0].gates[0]: Required value: one of manual, none, soak, window"}},
		{"unknown gate", template + "strategy:\n  steps:\n  - replicas: 1\n    gates:\n    - quorum: {}\n  - replicas: 100%",
			[]string{"12: spec.strategy.steps[0].gates[0].quorum: unknown field"}},
		{"eleven gates", template + "strategy:\n  steps:\n  - replicas: 1\n    gates: [" + strings.Repeat("{none: {}},", 11) + "]\n  - replicas: 100%",
			[]string{"11: spec.strategy.steps[0].gates: Too many: 11"}},
		{"duration", template + "strategy:\n  steps:\n  - replicas: 1\n    gates:\n    - soak:\n        duration: ten minutes\n  - replicas: 100%",
			[]string{`13: spec.strategy.steps[0].gates[0].soak.duration: time: invalid duration "ten minutes"`}},
		{"duration as a number", template + "strategy:\n  steps:\n  - replicas: 1\n    gates:\n    - soak:\n        duration: 10\n  - replicas: 100%",
			[]string{"13: spec.strategy.steps[0].gates[0].soak.duration: must be a duration such as 10m, not the number 10"}},
		{"duration too long", template + "strategy:\n  steps:\n  - replicas: 1\n    gates:\n    - soak: {duration: 1000h}\n  - replicas: 100%",
			[]string{"12: spec.strategy.steps[0].gates[0].soak.duration: Invalid value"}},
		{"schedule", template + "strategy:\n  steps:\n  - replicas: 1\n    gates:\n    - window:\n        schedule: 61 * * * *\n        timeZone: Europe/Nowhere\n  - replicas: 100%",
			[]string{"13: spec.strategy.steps[0].gates[0].window.schedule: Invalid value", "14: spec.strategy.steps[0].gates[0].window.timeZone: Invalid value"}},
		{"an approval by whom nobody is", inGates("- pullRequest:\n        minApprovals: 11\n        approvers:\n        - ada\n        - '@bob'\n        teams: [octo//sre]"),
			[]string{
				"13: spec.strategy.steps[0].gates[0].pullRequest.minApprovals: Invalid value: 11: must be from 0 to 10",
				`16: spec.strategy.steps[0].gates[0].pullRequest.approvers[1]: Invalid value: "@bob": is not a login`,
				`17: spec.strategy.steps[0].gates[0].pullRequest.teams[0]: Invalid value: "octo//sre": is not a team's slug`,
			}},
		{"two approvals", inGates("- pullRequest: {}\n    - manual: {}\n    - pullRequest: {minApprovals: 1}\n    - pullRequest: {}"),
			[]string{
				"14: spec.strategy.steps[0].gates[2].pullRequest: Forbidden: a step can have one pullRequest gate, and gates[0] is one",
				"15: spec.strategy.steps[0].gates[3].pullRequest: Forbidden: a step can have one pullRequest gate, and gates[0] is one",
			}},
		{"two approvals in a rollback", template + strategy + "rollback:\n  steps:\n  - replicas: 100%\n    gates:\n    - pullRequest: {}\n    - pullRequest: {}",
			[]string{"14: spec.rollback.steps[0].gates[1].pullRequest: Forbidden"}},
		{"an approval without braces", inGates("- pullRequest:"),
			[]string{"12: spec.strategy.steps[0].gates[0].pullRequest: must not be null"}},
		{"a status by anybody", inGates("- commitStatus:\n        context: ci/smoke"),
			[]string{"12: spec.strategy.steps[0].gates[0].commitStatus.creators: Required value: anyone with write access"}},
		{"a status of no context", inGates("- commitStatus:\n        creators: ['']\n        context: ''"),
			[]string{
				"13: spec.strategy.steps[0].gates[0].commitStatus.creators[0]: Required value",
				"14: spec.strategy.steps[0].gates[0].commitStatus.context: Required value",
			}},
		{"a check that may fail", inGates("- checkRun:\n        name: e2e\n        app: ci[bot]\n        conclusions:\n        - success\n        - failure\n        - success"),
			[]string{
				`14: spec.strategy.steps[0].gates[0].checkRun.app: Invalid value: "ci[bot]": is not an app's slug`,
				`17: spec.strategy.steps[0].gates[0].checkRun.conclusions[1]: Unsupported value: "failure"`,
				`18: spec.strategy.steps[0].gates[0].checkRun.conclusions[2]: Duplicate value: "success"`,
			}},
		{"a check with more than there is", inGates("- checkRun: {name: e2e, app: ci, timeout: 1m}"),
			[]string{"12: spec.strategy.steps[0].gates[0].checkRun.timeout: unknown field"}},
		{"surge", template + strategy[:len(strategy)-2] + ", maxSurge: 10, maxUnavailable: 200%}", []string{"8: spec.strategy.maxUnavailable: Invalid value"}},
		{"order", template + strategy[:len(strategy)-2] + ", order: [{name: Ascending}, {age: Young}, {name: Descending, age: OldestFirst}]}",
			[]string{`8: spec.strategy.order[1].age: Unsupported value: "Young"`, "8: spec.strategy.order[2]: Invalid value: 2: must have exactly one"}},
		{"order by a label that is none", template + strategy[:len(strategy)-2] + ", order: [{nodeLabel: {key: a b}}, {nodeLabel: {key: zone, values: [-]}}]}",
			[]string{`8: spec.strategy.order[0].nodeLabel.key: Invalid value: "a b"`, `8: spec.strategy.order[1].nodeLabel.values[0]: Invalid value: "-"`}},
		{"deadline", template + strategy[:len(strategy)-2] + ", progressDeadlineSeconds: 0}", []string{"8: spec.strategy.progressDeadlineSeconds: Invalid value: 0"}},
		{"drift", template + strategy + "drift: Undo", []string{"9: spec.drift: Unsupported value"}},
		{"preflight", template + strategy[:len(strategy)-2] + ", preflight: Skip}", []string{"8: spec.strategy.preflight: Unsupported value"}},
		{"rollback", template + strategy + "rollback: {steps: [{replicas: 1}]}", []string{"9: spec.rollback.steps[0].replicas: Invalid value"}},
		{"history", template + strategy + "revisionHistoryLimit: 0", []string{"9: spec.revisionHistoryLimit: Invalid value"}},
		{"history as a text", template + strategy + "revisionHistoryLimit: ten", []string{`9: spec.revisionHistoryLimit: must be a whole number, not the string "ten"`}},
		{"deletion policy", template + strategy + "deletionPolicy: Keep", []string{"9: spec.deletionPolicy: Unsupported value"}},
		{"supersede", template + strategy[:len(strategy)-2] + ", supersede: Wait}", []string{"8: spec.strategy.supersede: Unsupported value"}},
		{"step back", template + strategy[:len(strategy)-2] + ", stepBack: Remove}", []string{"8: spec.strategy.stepBack: Unsupported value"}},
		{"a step that there is not", template + strategy + "releaseTo: 2", []string{"9: spec.releaseTo: Invalid value: 2: must be a step, from 0 to 1"}},
		{"template is a text", strategy + "template: web:1", []string{"8: spec.template: must be an object"}},
		{"template is empty", strategy + "template: {}", []string{"8: spec.template: must not be empty"}},
		{"types in the template", strategy + `
template:
  metadata: {labels: {app: web, version: 2}}
  spec:
    containers:
    - name: web
      image: web:1
      ports:
      - containerPort: "80"
      env:
      - name: DEBUG
        value: yes
      newFieldOfATimeToCome: 1
`, []string{
			"10: spec.template.metadata.labels[version]: must be a string, not the number 2: put it into quotes",
			`16: spec.template.spec.containers[0].ports[0].containerPort: must be a whole number, not the string "80"`,
			"19: spec.template.spec.containers[0].env[0].value: must be a string, not the boolean true: put it into quotes",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			result := read(t, map[string]string{"r.yaml": release("web", tt.spec)})
			wantReleases(t, result)
			var want []string
			for _, w := range tt.want {
				want = append(want, "r.yaml:"+w)
			}
			wantErrors(t, result, want...)
		})
	}
}

// inGates returns a spec whose first step has gates, from line 12.
func inGates(gates string) string {
	return template + "strategy:\n  steps:\n  - replicas: 1\n    gates:\n    " + gates + "\n  - replicas: 100%"
}

func TestGatesOfAForgeAreRead(t *testing.T) {
	t.Parallel()
	result := read(t, map[string]string{"r.yaml": release("web", inGates(
		"- pullRequest: {minApprovals: 2, approvers: [ada], teams: [octo/sre], forbidSelfApproval: true}\n"+
			"    - commitStatus: {context: ci/smoke, creators: ['ci[bot]']}\n    - commitStatus: {context: ci/load, creators: [ada]}\n"+
			"    - checkRun: {name: e2e, app: github-actions, conclusions: [success, neutral]}"))})
	wantErrors(t, result)
	wantReleases(t, result, "shop/web")
}

func TestWrongObjects(t *testing.T) {
	t.Parallel()
	good := release("web", strategy+template)
	edit := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"another version", edit("/v1alpha1", "/v1"), []string{`1: apiVersion: must be rollouts.sluice.dev/v1alpha1, not "rollouts.sluice.dev/v1"`}},
		{"misspelt kind", edit("BatchRelease", "BatchRelase"), []string{`2: kind: "BatchRelase" is not a kind of`}},
		{"list", "apiVersion: v1\nkind: List\nitems: []\n", nil},
		{"no name", edit("  name: web\n", "  labels: {}\n"), []string{"3: metadata.name: Invalid value"}},
		{"long name", edit("  name: web\n", "  name: "+strings.Repeat("w", 64)+"\n"), []string{"4: metadata.name: Too long"}},
		{"bad name", edit("  name: web\n", "  name: Web_1\n"), []string{"4: metadata.name: Invalid value"}},
		{"name is a number", edit("  name: web\n", "  name: 1\n"), []string{"4: metadata.name: must be a string, not the number 1: put it into quotes"}},
		{"bad namespace", edit("  name: web\n", "  name: web\n  namespace: a.b\n"), []string{"5: metadata.namespace: Invalid value"}},
		{"bad label", edit("  name: web\n", "  name: web\n  labels: {a: 'b c'}\n"), []string{"5: metadata.labels"}},
		{"our label", edit("  name: web\n", "  name: web\n  labels: {rollouts.sluice.dev/source: me}\n"), []string{"5: metadata.labels: Forbidden: rollouts.sluice.dev/source is set by the controller"}},
		{"order", edit("  name: web\n", "  name: web\n  annotations: {rollback: 'true'}\n"), []string{"5: metadata.annotations: Forbidden: rollback is a one-off command"}},
		{"state", edit("  name: web\n", "  name: web\n  annotations: {last-stable-revision: x}\n"), []string{"5: metadata.annotations: Forbidden: last-stable-revision is set by the controller"}},
		{"copied from a cluster", edit("  name: web\n", "  name: web\n  uid: x\n  resourceVersion: '1'\n  finalizers: [a.b/c]\n"),
			[]string{"5: metadata.uid: Forbidden", "6: metadata.resourceVersion: Forbidden", "7: metadata.finalizers: Forbidden"}},
		{"unknown metadata", edit("  name: web\n", "  name: web\n  label: {}\n"), []string{"5: metadata.label: unknown field; did you mean labels?"}},
		{"status", good + "status: {phase: Completed}\n", []string{"9: status: Forbidden"}},
		{"unknown at the top", good + "Spec: {}\n", []string{"9: Spec: unknown field; did you mean spec?"}},
		{"workload", edit("apps/v1, kind: Deployment", "apps/v1, kind: ReplicaSet"), []string{`6: spec.workloadRef: Invalid value: "apps/v1 ReplicaSet": only apps/v1 Deployment, StatefulSet and DaemonSet can be released: set apiVersion: apps/v1, and kind: Deployment, StatefulSet or DaemonSet`}},
		{"workload of another group", edit("apps/v1, kind: Deployment", "apps.kruise.io/v1alpha1, kind: CloneSet"), []string{`6: spec.workloadRef: Invalid value: "apps.kruise.io/v1alpha1 CloneSet": only apps/v1 Deployment, StatefulSet and DaemonSet`}},
		{"StatefulSet of another group", edit("apps/v1, kind: Deployment", "apps.kruise.io/v1beta1, kind: StatefulSet"), []string{`6: spec.workloadRef: Invalid value: "apps.kruise.io/v1beta1 StatefulSet": only apps/v1`}},
		{"no kind", edit("kind: Deployment, ", ""), []string{`6: spec.workloadRef: Invalid value: "apps/v1": only apps/v1`}},
		{"no workload", edit("name: web}", "name: ''}"), []string{"6: spec.workloadRef.name: Required value"}},
		{"Deployment without name", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {}\n", []string{"3: metadata.name: must be given"}},
		{"Deployment with a number for a name", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: 1\n", []string{"4: metadata.name: must be a string"}},
		{"Deployment with a wrong template", strings.Replace(deployment("web", "x"), "containers:", "containers: none\n      others:", 1), []string{`13: spec.template.spec.containers: must be a list, not the string "none"`}},
		{"Deployment with a wrong spec", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: []\n", []string{"4: spec: must be an object"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			result := read(t, map[string]string{"r.yaml": tt.text})
			var want []string
			for _, w := range tt.want {
				want = append(want, "r.yaml:"+w)
			}
			wantErrors(t, result, want...)
			wantReleases(t, result)
		})
	}
}

func TestWhatGeneratorsWrite(t *testing.T) {
	t.Parallel()
	text := strings.Replace(release("web", strategy+template), "  name: web\n", "  name: web\n  creationTimestamp: null\n  annotations:\n", 1) + "status: {}\n"
	result := read(t, map[string]string{"r.yaml": text})
	wantErrors(t, result)
	wantReleases(t, result, "shop/web")
}

// TestQuotesAreForTexts: the error asks for quotes only where a text is wanted.
func TestQuotesAreForTexts(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"revisionHistoryLimit: true": "r.yaml:9: spec.revisionHistoryLimit: must be a whole number, not the boolean true",
		"deletionPolicy: true":       "r.yaml:9: spec.deletionPolicy: must be a string, not the boolean true: put it into quotes",
		"deletionPolicy: 1":          "r.yaml:9: spec.deletionPolicy: must be a string, not the number 1: put it into quotes",
	} {
		result := read(t, map[string]string{"r.yaml": release("web", template+strategy+value)})
		if len(result.Errors) != 1 || result.Errors[0].Error() != want {
			t.Errorf("%s: want %q, got %v", value, want, result.Errors)
		}
	}
}
