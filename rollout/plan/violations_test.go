package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// TestViolationsAreSeen: a planner with a bug is found out: each plan here is one that the real one
// never makes.
func TestViolationsAreSeen(t *testing.T) {
	t.Parallel()
	scale := func(revision string, from, to int32) Action {
		return MovePods{Write: deployment.Scale{Set: set(revision, from), From: from, To: to, Updated: revision == "v2"}}
	}
	status := func(change func(*v1alpha1.BatchReleaseStatus)) func(*v1alpha1.BatchReleaseStatus) { return change }
	stays := status(func(*v1alpha1.BatchReleaseStatus) {})
	back := status(func(s *v1alpha1.BatchReleaseStatus) {
		s.UpdateRevision, s.Rollback = "v1", &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "v2"}
	})
	ends := status(func(s *v1alpha1.BatchReleaseStatus) { s.CurrentStepIndex++ })
	half := func() *scene { return held(10).at(1, 5).sets(set("v1", 5), set("v2", 5)) }
	for name, test := range map[string]struct {
		scene   *scene
		after   func(*v1alpha1.BatchReleaseStatus)
		actions []Action
		want    []string
	}{
		"nothing":                      {half(), stays, nil, nil},
		"one more old pod, with surge": {half(), stays, []Action{scale("v1", 5, 6)}, nil},
		"too many pods":                {half(), stays, []Action{scale("v1", 5, 9)}, []string{"I1"}},
		"too many in two writes":       {half(), stays, []Action{scale("v1", 5, 6), scale("v1", 6, 7)}, []string{"I1"}},
		"too few available":            {half(), stays, []Action{scale("v1", 5, 1)}, []string{"I2"}},
		"more updated than approved":   {half(), stays, []Action{scale("v2", 5, 6)}, []string{"I3"}},
		"fewer updated":                {half(), stays, []Action{scale("v2", 5, 4)}, []string{"I2", "I5"}},
		"the bad one grows":            {half(), back, []Action{scale("v2", 5, 6)}, []string{"I6"}},
		"the good one grows":           {half(), back, []Action{scale("v1", 5, 6)}, nil},
		"on without its gate":          {half(), ends, nil, []string{"I3"}},
		"what follows is anybody's":    {half(), stays, []Action{TakeOver{}, scale("v1", 5, 9)}, nil},
		"on with its gate":             {half().gates(gate(1, 1, 0, passed, by("ada"))), ends, nil, nil},
		"what nobody can foresee":      {half(), stays, []Action{MovePods{Write: nil}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := test.scene.Observation
			next := Plan{Actions: test.actions, Status: *o.Release.Status.DeepCopy()}
			test.after(&next.Status)
			var got []string
			for _, v := range Violations(o, next) {
				if got = append(got, v.Invariant); !slices.Contains(Invariants, v.Invariant) || v.How == "" {
					t.Errorf("got %+v, want an invariant and how it is broken", v)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExposed(t *testing.T) {
	t.Parallel()
	o := held(10).Observation
	if Exposed(o.Workload) || Exposed(nil) {
		t.Error("want what is secured, or not there, not exposed")
	}
	loose := *o.Workload
	loose.Mover = deployment.Mover{Recreate: true}
	if !Exposed(&loose) {
		t.Error("want a Deployment that is held, not paused and of strategy Recreate exposed")
	}
	loose.Hold = nil
	if Exposed(&loose) {
		t.Error("want a workload that nobody holds not exposed")
	}
}
