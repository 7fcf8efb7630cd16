package spec

import "testing"

// TestAllAtOnce: a typo, a wrong type and a misspelt kind hide nothing that is wrong elsewhere, and
// make nothing up.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	result := read(t, map[string]string{"web.yaml": `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelase
metadata:
  name: web
  annotations: {rollback: "true", 7: x}
spec:
  workloadRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}
  template:
    spec: {containers: [{name: web, image: 5}]}
  strategy:
    maxUnavailable: 200%
    onFailure: Undo
    steps:
    - replica: 1
      gates:
      - soak: {duration: 10 minutes}
      - window: {schedule: 61 * * * *}
      - quorum: {}
    - replicas: 50%
    - replicas: 30%
    - replicas: 100%
      gates: nothing
  drift: Undo
  revisionHistoryLimit: 0
`})
	wantErrors(t, result,
		`web.yaml:2: kind: "BatchRelase" is not a kind of`,
		"web.yaml:5: metadata.annotations: Forbidden: rollback is a one-off command",
		`web.yaml:7: spec.workloadRef: Invalid value: "apps/v1 ReplicaSet"`,
		"web.yaml:9: spec.template.spec.containers[0].image: must be a string, not the number 5: put it into quotes",
		"web.yaml:11: spec.strategy.maxUnavailable: Invalid value",
		`web.yaml:12: spec.strategy.onFailure: Unsupported value: "Undo"`,
		"web.yaml:14: spec.strategy.steps[0].replica: unknown field; did you mean replicas?",
		`web.yaml:16: spec.strategy.steps[0].gates[0].soak.duration: time: `,
		"web.yaml:17: spec.strategy.steps[0].gates[1].window.schedule: Invalid value",
		"web.yaml:18: spec.strategy.steps[0].gates[2].quorum: unknown field",
		"web.yaml:20: spec.strategy.steps[2].replicas: Invalid value",
		"web.yaml:22: spec.strategy.steps[3].gates: must be a list, not the string \"nothing\"",
		`web.yaml:23: spec.drift: Unsupported value: "Undo"`,
		"web.yaml:24: spec.revisionHistoryLimit: Invalid value: 0",
	)
}
