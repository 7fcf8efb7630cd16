package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestEnterFirstStep(t *testing.T) {
	t.Parallel()
	begun := func(s *v1alpha1.BatchReleaseStatus) {
		notEntered(s)
		s.Phase, s.Progress = v1alpha1.PhaseInitial, nil
		s.Reason, s.CurrentStepState, s.Replicas, s.TargetReplicas = v1alpha1.ReasonTakingOver, v1alpha1.StepInitial, 0, 0
	}
	const first = "RollingUpdate 1/3 Upgrade StepUpgrading"
	checkPlans(t, map[string]planned{
		"a release that is taken over enters its first step": {
			held(10).status(begun).sets(set("v1", 10)), outcome{Script: []string{"create v2 with 1" + batch1}, Is: first},
		},
		"a rollback enters its own": {
			rollingBack(10).status(begun).sets(set("v2", 10)),
			outcome{Script: []string{"create v1 with 1: batch 1/2"}, Is: "RollingBack 1/2 Upgrade RollingBack"},
		},
		"the native controller scaled until now: the sets are read live": {
			held(10).status(begun).sets(set("v1", 10, stale)).but(unlisted),
			outcome{Script: []string{"needs counts"}, Is: "Initial - Initial TakingOver"},
		},
		"the cache may not have the first set of a Deployment that was just created": {
			held(10).status(begun).sets().but(unlisted),
			outcome{Script: []string{"needs counts"}, Is: "Initial - Initial TakingOver"},
		},
	})
}

func TestFollowSpecReplicas(t *testing.T) {
	t.Parallel()
	type numbers struct{ Target, Recorded, Replicas int32 }
	tests := map[string]struct {
		scene *scene
		want  numbers
	}{
		"nothing has changed": {held(10).at(1, 5).sets(set("v1", 5), set("v2", 5)), numbers{5, 5, 10}},
		"a new number is recorded once the sets conform": {
			held(15).at(1, 5).scaledFrom(10).sets(set("v1", 8), set("v2", 7)), numbers{7, 7, 15},
		},
		"updated pods may still be missing then": {
			held(15).at(1, 5).scaledFrom(10).sets(set("v1", 8), set("v2", 5)), numbers{7, 7, 15},
		},
		"not while old ones are missing": {
			held(15).at(1, 5).scaledFrom(10).sets(set("v1", 5), set("v2", 5)), numbers{7, 5, 10},
		},
		"not while there are too many updated ones": {
			held(6).at(1, 5).scaledFrom(10).sets(set("v1", 5), set("v2", 5)), numbers{3, 5, 10},
		},
		"with no other set left all there are count": {
			held(10).at(1, 5).sets(set("v2", 9)), numbers{9, 9, 10},
		},
		"a rollback adds to no bad pod: the rest is the target": {
			rollingBack(15).at(0, 1).scaledFrom(10).sets(set("v2", 9), set("v1", 1)), numbers{6, 6, 15},
		},
		"a step that was made smaller holds for the pods that are not made yet": {
			held(10).steps(step("1"), step("20%"), step("100%")).at(1, 5).sets(set("v1", 8), set("v2", 3)), numbers{3, 3, 10},
		},
		"and for one that is scaled at the same time": {
			held(20).steps(step("1"), step("20%"), step("100%")).at(1, 5).scaledFrom(10).sets(set("v1", 19), set("v2", 1)), numbers{4, 4, 20},
		},
		"a rollback has the pods for the route that sends its version most": {
			rollingBack(20).sets(set("v2", 18), set("v1", 2)).at(0, 2).but(sharedBy(80, 40, 70)), numbers{12, 12, 20},
		},
		"... and none for a route that is not held": {
			rollingBack(20).sets(set("v2", 18), set("v1", 2)).at(0, 2).but(sharedBy(80, 40)).but(func(o *Observation) { o.Traffic.Routes[1].Held = false }), numbers{2, 2, 20},
		},
		"steps were taken out: the last that is left means all": {
			held(10).at(7, 5).sets(set("v1", 5), set("v2", 5)), numbers{10, 10, 10},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, task := follow(nothing(test.scene.look()))
			got := numbers{task.Target, p.snap.record.TargetReplicas, p.snap.record.Replicas}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("numbers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStepDone(t *testing.T) {
	t.Parallel()
	open := func() *scene { return held(10).steps(step("1", none), step("100%")) }
	tests := map[string]struct {
		scene *scene
		want  bool
	}{
		"all that the step says are available":            {doneStep(), true},
		"one is not available":                            {held(10).sets(set("v1", 9), set("v2", 1, available(0))), false},
		"an available pod that is to go does not count":   {held(10).sets(set("v1", 9), set("v2", 0, available(1))), false},
		"at a gate no old pod is left beyond the step":    {held(10).sets(set("v1", 10), set("v2", 1)), false},
		"at a gate the count must be of the present spec": {held(10).sets(set("v1", 9), set("v2", 1, unobserved)), false},
		"where nobody stops old pods may be left":         {open().sets(set("v1", 10), set("v2", 1)), true},
		"where nobody stops an old count will do":         {open().sets(set("v1", 10), set("v2", 1, unobserved)), true},
		"at the end none may be left":                     {open().at(1, 10).sets(set("v1", 1), set("v2", 10)), false},
		"after a jump back no other pod is too many":      {open().status(steppedBack(1, 0)).sets(set("v1", 10), set("v2", 1)), false},
		"after a jump back no other pod is missing":       {open().status(steppedBack(1, 0)).sets(set("v1", 8), set("v2", 1)), false},
		"after a jump back the pods are as the step says": {open().status(steppedBack(1, 0)).sets(set("v1", 9), set("v2", 1)), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := test.scene.look()
			if got := stepDone(s, s.record.TargetReplicas, 0); got != test.want {
				t.Errorf("done is %t, want %t", got, test.want)
			}
		})
	}
}
