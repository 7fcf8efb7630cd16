package simulate_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/simulate"
	"github.com/sluice-dev/sluice/rollout/workload"
)

const tiers = `
members: [{name: db}, {name: api, after: [{member: db, reached: 1}]}, {name: web}]
strategy:
  onFailure: Rollback
  steps: [{replicas: 1, gates: [{pullRequest: {minApprovals: 1}}]}, {replicas: 100%}]
`

const inPercent = `
members: [{name: db}, {name: web}, {name: api}]
strategy:
  lockstep: {maxSkew: 25%}
  steps: [{replicas: 100%}]
`

// playTrain simulates a train of three Deployments with 4 pods.
func playTrain(t *testing.T, spec, trace string) (*simulate.Timeline, error) {
	t.Helper()
	train := &v1alpha1.BatchRelease{}
	train.Name = "shop"
	if err := yaml.UnmarshalStrict([]byte(spec), &train.Spec); err != nil {
		t.Fatalf("read train: %v", err)
	}
	var members []simulate.Member
	for _, member := range train.Spec.Members {
		release, of := &v1alpha1.BatchRelease{}, workload.New("Deployment")
		release.Name = member.Name
		release.Spec.WorkloadRef = v1alpha1.WorkloadReference{Kind: "Deployment", Name: member.Name}
		for _, step := range train.Spec.Strategy.Steps {
			step.Gates = []v1alpha1.GatePolicy{{None: &v1alpha1.NoGate{}}}
			release.Spec.Strategy.Steps = append(release.Spec.Strategy.Steps, step)
		}
		if err := yaml.UnmarshalStrict([]byte("spec: {replicas: 4, progressDeadlineSeconds: 60}"), of.Object()); err != nil {
			t.Fatalf("read workload: %v", err)
		}
		members = append(members, simulate.Member{Release: release, Group: member.Name, Manifest: of.Object()})
	}
	parsed, err := simulate.Parse([]byte(trace))
	if err != nil {
		t.Fatal(err)
	}
	return simulate.RunTrain(train, members, parsed)
}

func TestTrain(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, trace string }{
		"approved": {"one approval lets all members go on, in their order", `
approveAfter: 1m
events:
- {at: 5s, member: db, expect: {new: 1}}
- {at: 5s, member: api, expect: {new: 0, old: 4}}
- {at: 15s, member: api, expect: {new: 1}}
- {at: 30s, expect: {batch: 1/2, state: BatchBlocking, new: 3}}
- {at: 1h, expect: {phase: Completed, new: 12, old: 0}}
- {at: 1h, member: web, expect: {phase: Completed, new: 4}}
`},
		"broken": {"a member that fails takes all back", `
approveAfter: 1m
events:
- {at: 0s, member: web, broken: v2}
- {at: 30s, expect: {batch: 1/2}}
- {at: 1h, expect: {phase: Completed, available: 12}}
- {at: 1h, member: db, expect: {phase: Completed, available: 4}}
`},
		"rejected and rolled back": {"what people ask for is asked of the train", `
events:
- {at: 1m, rollback: true}
- {at: 1h, expect: {phase: Completed, available: 12}}
`},
		"a commit of one": {"a commit can change one member", `
approveAfter: 1m
events:
- {at: 1h, template: v3, member: web}
- {at: 65m, expect: {phase: Completed, available: 12}}
- {at: 65m, member: web, expect: {phase: Completed, new: 4}}
`},
		"held in lockstep": {"a member that waits for another one within a step does not fail", `
events:
- {at: 0s, member: web, broken: v2}
- {at: 1h, member: db, expect: {phase: RollingUpdate, new: 1, old: 3}}
- {at: 1h, member: web, expect: {phase: Failed}}
- {at: 1h, broken: ""}
- {at: 1h, member: web, heal: 1}
- {at: 1h, retry: true}
- {at: 2h, expect: {phase: Completed, new: 12}}
`},
		"scaled": {"a member is scaled by itself", `
approveAfter: 1m
events:
- {at: 1s, member: db, scale: 8}
- {at: 1h, member: db, expect: {phase: Completed, new: 8}}
- {at: 1h, member: web, expect: {new: 4}}
`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := tiers
			if name == "held in lockstep" {
				spec = inPercent
			}
			timeline, err := playTrain(t, spec, strings.Replace(tc.trace, "BatchBlocking", string(v1alpha1.StepBlocking), 1))
			if err != nil {
				t.Fatal(err)
			}
			if err := timeline.Err(); err != nil {
				t.Errorf("%s: %v: %q %q", tc.reason, err, timeline.Unmet, timeline.Broken)
			}
		})
	}
}

// TestTrainRolls: the timeline of a train that fails ends in a rollback of each member.
func TestTrainRolls(t *testing.T) {
	t.Parallel()
	timeline, err := playTrain(t, tiers, "events: [{at: 0s, member: web, broken: v2}]")
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]simulate.Row{}
	for _, row := range timeline.Rows {
		last[row.Release] = row
	}
	for name, why := range map[string]string{"shop": "3 members returned: member web failed", "web": "revision v1 runs again", "db": "revision v1 runs again"} {
		if !strings.Contains(last[name].Why, why) {
			t.Errorf("want %s to end with %q, got %q", name, why, last[name].Why)
		}
	}
}

func TestUnknownMembers(t *testing.T) {
	t.Parallel()
	trace := "events: [{at: 1s, member: cache, scale: 3}]"
	if _, err := playTrain(t, tiers, trace); err == nil || !strings.Contains(err.Error(), `events[0].member: the train has no member "cache", but db, api, web`) {
		t.Errorf("want an error that names the members, got %v", err)
	}
	parsed, err := simulate.Parse([]byte(trace))
	if err != nil {
		t.Fatal(err)
	}
	release := &v1alpha1.BatchRelease{}
	release.Spec.WorkloadRef = v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}
	release.Spec.Strategy.Steps = []v1alpha1.Step{{}}
	if _, err := simulate.Run(release, nil, parsed); err == nil || !strings.Contains(err.Error(), "events[0].member: only a train has members") {
		t.Errorf("want an error for a release without members, got %v", err)
	}
}
