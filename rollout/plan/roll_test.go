package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestNothingIsScaledWhileTheNativeControllerMayActOnThePast(t *testing.T) {
	t.Parallel()
	behind := func(n int64, sets ...Set) *scene {
		return held(10).sets(sets...).but(func(o *Observation) { o.Workload.Behind = n })
	}
	creates := []string{"create v2 with 1" + batch1}
	checkScripts(t, map[string]scripted{
		"it has seen all":             {behind(0, set("v1", 10)), creates},
		"it has not seen two changes": {behind(2, set("v1", 10)), nil},
		"our take-over is unseen, but one set has all replicas: nothing it could do": {behind(1, set("v1", 10), set("v0", 0)), creates},
		"that set has other replicas":     {behind(1, set("v1", 9)), nil},
		"there is another with pods":      {behind(1, set("v1", 10), set("v0", 1)), nil},
		"two sets have all replicas each": {behind(1, set("v1", 10), set("v0", 10)), nil},
		"no set has pods, and it would scale the newest: that becomes the stable one": {
			behind(1, set("v1", 0)), []string{"take over with template v1: no version has pods: the next pods are of the stable revision v1"},
		},
	})
}

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

func TestTheTargetWhenAStepIsEntered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		index int32
		want  int32
	}{
		"the step's share":                                {held(10), 1, 5},
		"pods that run the revision already stay":         {held(10).sets(set("v1", 3), set("v2", 7)), 1, 7},
		"but for one, short of 100%":                      {held(10).sets(set("v2", 12)), 1, 9},
		"and there are no more updated pods than all":     {held(10).sets(set("v2", 12)), 2, 10},
		"pods of a set that is being deleted don't count": {held(10).sets(set("v2", 7, func(s *Set) { s.Deleting = true })), 1, 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := enterStep(nothing(test.scene.look()), test.index)
			if p.snap.record.TargetReplicas != test.want {
				t.Errorf("target %d, want %d", p.snap.record.TargetReplicas, test.want)
			}
		})
	}
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

func TestProgressIsTheMostThatEverWereAvailable(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		replicas, available, want int32
		moved                     bool
	}{
		"one more is progress":                     {5, 4, 4, true},
		"as many again is none":                    {5, 3, 3, false},
		"fewer don't undo what had been":           {5, 1, 3, false},
		"pods that are to go are none":             {3, 5, 3, false},
		"the mark comes down with those taken":     {2, 2, 2, true},
		"and is not raised by those yet to go":     {2, 5, 2, true},
		"more that are there with others to go is": {4, 5, 4, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := held(10).at(1, 5).sets(set("v1", 10-test.replicas), set("v2", test.replicas, available(test.available)))
			s.Release.Status.Progress = &v1alpha1.Progress{Available: 3}
			got := next(t, s).Status.Progress
			if got.Available != test.want || got.Since.Time.Equal(noon) != test.moved {
				t.Errorf("progress %d since %s, want %d, moved %t", got.Available, got.Since, test.want, test.moved)
			}
		})
	}
}
