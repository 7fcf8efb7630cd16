package plan

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// asks says that an operator asks for a step.
func asks(to int32) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) { s.NextStepIndex = &to }
}

// jumped says that the attempt in progress has jumped.
func jumped(from, to int32) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) {
		s.Jump = &v1alpha1.Jump{From: from, To: to, By: byOperator, Attempt: s.Attempt}
	}
}

func TestJumpIsRecordedFirst(t *testing.T) {
	t.Parallel()
	middle := func() *scene { return held(10).at(1, 5).sets(set("v1", 5), set("v2", 5)) }
	tests := map[string]struct {
		scene   *scene
		refused bool
		to      int32
		attempt int64
		step    int32
		target  int32
	}{
		"forward, the step stays until its pods are there":      {scene: doneStep().status(asks(2)), to: 2, attempt: 1, step: 0, target: 1},
		"back, with the pods that there are and new gates":      {scene: middle().status(asks(0)), to: 0, attempt: 2, step: 0, target: 5},
		"back in mid-step, with no more pods than there are":    {scene: held(10).at(1, 5).sets(set("v1", 7), set("v2", 3)).status(asks(0)), to: 0, attempt: 2, step: 0, target: 3},
		"there is no such step":                                 {scene: middle().status(asks(3)), refused: true, to: 3, step: 1, target: 5},
		"a step before the first":                               {scene: middle().status(asks(-1)), refused: true, to: -1, step: 1, target: 5},
		"the present step":                                      {scene: middle().status(asks(1)), refused: true, to: 1, step: 1, target: 5},
		"in a rollback":                                         {scene: rollingBack(10).sets(set("v1", 0), set("v2", 10)).status(asks(1)), refused: true, to: 1, step: 0, target: 1},
		"when nothing runs":                                     {scene: completed(10).resolved("v1").status(asks(1)), refused: true, to: 1, step: 2, target: 10},
		"in a failed release":                                   {scene: middle().status(asks(2)).status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }), refused: true, to: 2, step: 1, target: 5},
		"while it is suspended, too: it is gone by afterwards":  {scene: doneStep().status(asks(2)).but(suspended), to: 2, attempt: 1, step: 0, target: 1},
		"what Git asks for":                                     {scene: doneStep().but(func(o *Observation) { o.Release.Spec.ReleaseTo = new(int32(2)) }), to: 2, attempt: 1, step: 0, target: 1},
		"what an operator asks for counts before what Git does": {scene: doneStep().status(asks(1)).but(func(o *Observation) { o.Release.Spec.ReleaseTo = new(int32(2)) }), to: 1, attempt: 1, step: 0, target: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene)
			s := &p.Status
			if s.NextStepIndex != nil || s.Jump == nil || s.Jump.To != test.to || s.Jump.Attempt != test.attempt {
				t.Fatalf("asked %v, recorded %+v; want to step %d for attempt %d", s.NextStepIndex, s.Jump, test.to, test.attempt)
			}
			if s.CurrentStepIndex != test.step || s.TargetReplicas != test.target || p.StatusFirst == test.refused {
				t.Errorf("step %d, target %d, first %t; want step %d, target %d", s.CurrentStepIndex, s.TargetReplicas, p.StatusFirst, test.step, test.target)
			}
			if len(p.Events) == 0 || p.Events[len(p.Events)-1].Warning != test.refused && p.Events[0].Warning != test.refused {
				t.Errorf("people are told %+v; want a warning: %t", p.Events, test.refused)
			}
		})
	}
}

func TestJumpIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	toLast := func(o *Observation) { o.Release.Spec.ReleaseTo = new(int32(2)) }
	acted := func(s *v1alpha1.BatchReleaseStatus) {
		s.Jump = &v1alpha1.Jump{To: 2, By: byGit, Attempt: s.Attempt, ReleaseTo: new(int32(2))}
	}
	asked := func(s *scene) bool {
		to, _ := jumpAsked(s.look())
		return to != nil
	}
	if asked(held(10).at(1, 5).but(toLast).status(acted)) {
		t.Error("spec.releaseTo is acted on twice")
	}
	if !asked(held(10).at(1, 5).but(func(o *Observation) { o.Release.Spec.ReleaseTo = new(int32(0)) }).status(acted)) {
		t.Error("another spec.releaseTo is not acted on")
	}
	if s := next(t, held(10).at(1, 5).sets(set("v1", 5), set("v2", 5)).status(acted)).Status; s.Jump == nil || s.Jump.ReleaseTo != nil {
		t.Errorf("once it is taken away the same step can be asked for again; the record is %+v", s.Jump)
	}
}

// skippable returns a gate that a jump goes over.
func skippable(policy v1alpha1.GatePolicy) v1alpha1.GatePolicy {
	policy.Skippable = true
	return policy
}

func TestJumpGoesOverGatesThatCanBeSkipped(t *testing.T) {
	t.Parallel()
	steps := []v1alpha1.Step{step("1", manual, soak), step("50%"), step("100%")}
	checkScripts(t, map[string]scripted{
		"the gates of the step that was jumped to are asked": {
			half().status(jumped(0, 1)), []string{"open gate web-v2-1-1-0 (manual): batch 2/3 is done"},
		},
		"a manual gate is not asked, and closed": {
			doneStep().gates(gate(1, 0, 0)).status(jumped(0, 2)),
			[]string{"close gate web-v2-1-0-0: the steps were edited", "scale v2 1 -> 2: batch 2/3"},
		},
		"others are": {
			doneStep().steps(steps...).status(jumped(0, 2)), []string{"open gate web-v2-1-0-1 (soak): batch 1/3 is done"},
		},
		"unless they can be skipped": {
			doneStep().steps(step("1", skippable(soak)), step("50%"), step("100%")).status(jumped(0, 2)), []string{"scale v2 1 -> 2: batch 2/3"},
		},
		"those of the step that it goes to are": {
			doneStep().status(jumped(1, 0)), []string{"open gate web-v2-1-0-0 (manual): batch 1/3 is done"},
		},
		"those of another attempt are": {
			doneStep().status(jumped(0, 2)).status(func(s *v1alpha1.BatchReleaseStatus) { s.Jump.Attempt = 9 }),
			[]string{"open gate web-v2-1-0-0 (manual): batch 1/3 is done"},
		},
		"it rests on live sets": {
			doneStep().status(asks(2)).but(unlisted), []string{"needs counts"},
		},
	})
}

// removing has jumps back take updated pods away.
func removing(o *Observation) { o.Release.Spec.Strategy.StepBack = v1alpha1.StepBackRemovePods }

// steppedBack says that the attempt in progress has jumped back with the pods.
func steppedBack(from, to int32) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) {
		jumped(from, to)(s)
		s.Jump.RemovePods = true
	}
}

func TestJumpBackMayRemovePods(t *testing.T) {
	t.Parallel()
	halfway := func() *scene { return held(10).at(1, 5).sets(set("v1", 5), set("v2", 5)).but(removing) }
	back := func(sets ...Set) *scene { return held(10).at(0, 1).sets(sets...).status(steppedBack(1, 0)) }
	if s := next(t, halfway().status(asks(0))).Status; s.TargetReplicas != 1 || !s.Jump.RemovePods {
		t.Errorf("a jump back aims at %d updated pods, want 1; the record is %+v", s.TargetReplicas, s.Jump)
	}
	if s := next(t, halfway().status(asks(2))).Status; s.Jump.RemovePods {
		t.Errorf("a jump forward removes nothing; the record is %+v", s.Jump)
	}
	going := back(set("v1", 5), set("v2", 5)).status(func(s *v1alpha1.BatchReleaseStatus) { s.Progress.Available = 3 })
	if got := next(t, going).Status.Progress.Available; got != 3 {
		t.Errorf("%d pods are progress while pods are to go back, want the 3 from before the jump", got)
	}
	checkScripts(t, map[string]scripted{
		"the others grow first, within the surge": {
			back(set("v1", 5), set("v2", 5)), []string{"scale v1 5 -> 6: back to the target of batch 1/3"},
		},
		"then as many go as need not serve": {
			back(set("v1", 6), set("v2", 5)), []string{"scale v2 5 -> 4: back to the target of batch 1/3"},
		},
		"where there are no others the first one is beyond the surge if it must: a lone set is the native controller's": {
			back(set("v1", 0), set("v2", 10, func(s *Set) { s.Noted = true })).bounds("0", "1"),
			[]string{
				"scale v2 10 -> 10: otherwise the native controller empties the others again", "scale v1 0 -> 1: back to the target of batch 1/3",
				"scale v2 10 -> 9: back to the target of batch 1/3",
			},
		},
		"no gate is opened while there is an updated pod too many": {
			back(set("v1", 9), set("v2", 3, available(1))), []string{"scale v2 3 -> 1: back to the target of batch 1/3"},
		},
		"nor while one of the others is missing": {
			back(set("v1", 8), set("v2", 1)), []string{"scale v1 8 -> 9: back to the target of batch 1/3"},
		},
		"then they are": {
			back(set("v1", 9), set("v2", 1)), []string{"open gate web-v2-1-0-0 (manual): batch 1/3 is done"},
		},
	})
}
