package story_test

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// TestMembersTellLittle: a train tells what its members do in a run, and a member what people do
// with it alone.
func TestMembersTellLittle(t *testing.T) {
	t.Parallel()
	back := func(trigger v1alpha1.RollbackTrigger) func(*status) {
		return func(s *status) {
			next(s)
			s.Phase, s.Rollback = v1alpha1.PhaseRollingBack, &v1alpha1.RollbackRecord{Trigger: trigger, From: "v2"}
		}
	}
	stopped := func(cause v1alpha1.StopCause) func(*status) {
		return func(s *status) { s.State, s.StoppedBy = v1alpha1.StateStopped, []v1alpha1.StopCause{cause} }
	}
	cases := map[string]struct {
		change func(*status)
		own    bool
	}{
		"it completes":              {completed, false},
		"it fails":                  {failed, false},
		"a commit takes its place":  {next, false},
		"it returns with its train": {back(v1alpha1.TriggerTrain), false},
		"its train returns":         {stopped(v1alpha1.StopTrainReturns), false},
		"all are frozen":            {stopped(v1alpha1.StopFrozen), false},
		"it is suspended":           {suspended, true},
		"it is rolled back alone":   {back(v1alpha1.TriggerAnnotation), true},
	}
	for name, tc := range cases {
		for train, own := range map[string]bool{"shop": tc.own, "": true} {
			before, after := rolling(), rolling(tc.change)
			before.Spec.Train, after.Spec.Train = train, train
			facts := story.OfRelease(before, after, noon)
			if len(facts) == 0 {
				t.Errorf("%s: want facts", name)
			}
			told := false
			for i := range facts {
				told = told || facts[i].Own()
			}
			if told != own {
				t.Errorf("%s, with train %q: want %t, got %+v", name, train, own, facts)
			}
		}
	}
}

// TestTrainFails: a train of which a member makes no progress has failed, though its phase stays.
func TestTrainFails(t *testing.T) {
	t.Parallel()
	before, after := rolling(), rolling(func(s *status) { s.State, s.Message = v1alpha1.StateFailed, "member api failed" })
	before.Spec.Members = []v1alpha1.TrainMember{{Name: "api"}}
	after.Spec.Members = before.Spec.Members
	facts := story.OfRelease(before, after, noon)
	if len(facts) != 1 || facts[0].Kind != story.ReleaseFailed || facts[0].Message != "member api failed" {
		t.Errorf("want that it failed, got %+v", facts)
	}
	if facts := story.OfRelease(after, after, noon); len(facts) > 0 {
		t.Errorf("want it told once, got %+v", facts)
	}
}
