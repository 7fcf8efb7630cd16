package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func rollback(to string) func(*Observation) {
	return func(o *Observation) { o.Release.Annotations[v1alpha1.RollbackAnnotation] = to }
}

// begun sets a first release whose workload is not taken over yet.
func begun(s *v1alpha1.BatchReleaseStatus) {
	s.Phase, s.Attempt, s.UpdateRevision, s.Resolved = v1alpha1.PhaseRollingUpdate, 1, "v2", resolved("v2")
}

func retry(o *Observation) { o.Release.Annotations[v1alpha1.RetryAnnotation] = "true" }

func stableIsReleased(s *v1alpha1.BatchReleaseStatus) { s.StableRevision = s.UpdateRevision }

func TestAnswerRollback(t *testing.T) {
	t.Parallel()
	const recorded = "RollingBack - Initial RollingBack"
	checkPlans(t, map[string]planned{
		"the intent is durable before anything is done for it, the annotation included": {
			held(10).but(rollback("true")),
			outcome{StatusFirst: true, Is: recorded},
		},
		"before a first release has taken its workload over, what runs is kept to go back to": {
			running(10).status(begun).but(rollback("true")),
			outcome{Script: []string{"keep template v1 (Adopted): kept to roll back to"}, Is: "RollingUpdate - - TakingOver"},
		},
		"a completed release is rolled back the same way": {
			completed(10).resolved("v1").keep("v0").stable("v1", "v0").but(rollback("true")),
			outcome{StatusFirst: true, Is: recorded},
		},
		"a failed release can be rolled back": {
			held(10).but(rollback("true")).status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }),
			outcome{StatusFirst: true, Is: recorded},
		},
		"once it is recorded the annotation goes, and the rollback goes on": {
			rollingBack(10).but(rollback("true")).sets(set("v2", 10), set("v1", 1, available(0))),
			outcome{
				Script: []string{"annotate release -rollback: the rollback is recorded"},
				Wake:   longestLook, Is: "RollingBack 1/2 Upgrade RollingBack",
			},
		},
		"a rollback on its way to another revision is sent to the one that is named": {
			rollingBack(10).keep("v0").but(rollback("v0")),
			outcome{StatusFirst: true, Is: recorded},
		},
		"a revision that is not kept is told, and the release goes on": {
			held(10).but(rollback("v7")).sets(set("v1", 10), set("v2", 1, available(0))),
			outcome{
				Script: []string{`annotate release -rollback: rollback=v7: revision "v7" is not in the history; choose one of v1`},
				Wake:   longestLook, Is: "RollingUpdate 1/3 Upgrade StepUpgrading",
			},
		},
		"a workload that has the template, and rolls it out itself, has no version before": {
			running(10).resolved("v1").sets(set("v0", 4), set("v1", 7)).status(func(s *v1alpha1.BatchReleaseStatus) {
				begun(s)
				s.Phase, s.Resolved, s.UpdateRevision = v1alpha1.PhaseInitial, resolved("v1"), "v1"
			}).but(rollback("true")),
			outcome{
				Script: []string{"annotate release -rollback: rollback=true: there is no stable template to go back to; no stable revision is in the history"},
				Is:     "Initial - - NativeRollout",
			},
		},
		"nor has one that is taken over on the way": {
			held(10).sets(set("v1", 10), set("v2", 1, available(0))).keep("v2").status(stableIsReleased).but(rollback("true")),
			outcome{
				Script: []string{`annotate release -rollback: rollback=true: revision "v2" is the one that is being released; choose one of v2, v1`},
				Wake:   longestLook, Is: "RollingUpdate 1/3 Upgrade StepUpgrading",
			},
		},
		"... whatever its name": {
			held(10).sets(set("v1", 10), set("v2", 1, available(0))).keep("v8").but(func(o *Observation) { o.Kept[len(o.Kept)-1].Digest = "digest-v2" }).
				status(func(s *v1alpha1.BatchReleaseStatus) { s.StableRevision = "v8" }).but(rollback("true")),
			outcome{
				Script: []string{`annotate release -rollback: rollback=true: revision "v8" is the one that is being released; choose one of v8, v1`},
				Wake:   longestLook, Is: "RollingUpdate 1/3 Upgrade StepUpgrading",
			},
		},
		"what runs already is nothing to roll back to": {
			completed(10).resolved("v1").but(rollback("v1")),
			outcome{
				Script: []string{`annotate release -rollback: rollback=v1: revision "v1" already runs`},
				Is:     "Completed 3/3 Completed Completed",
			},
		},
		"... by whatever name": {
			completed(10).resolved("v1").but(rollback("v1")).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.UpdateRevision, s.Resolved.Revision = "v3", "v3"
			}),
			outcome{
				Script: []string{`annotate release -rollback: rollback=v1: revision "v1" already runs`},
				Is:     "Completed 3/3 Completed Completed",
			},
		},
	})
}

func TestARollbackIsANewAttemptAtTheOldTemplate(t *testing.T) {
	t.Parallel()
	type start struct {
		Attempt                  int64
		Update, Stable, To       string
		Resolved                 v1alpha1.ResolvedTemplate
		Quarantined              []string
		Step, Target             int32
		GatesAndProgressAreReset bool
	}
	back := v1alpha1.ResolvedTemplate{Given: "given-v2", Digest: "digest-v1", Revision: "v1"}
	tests := map[string]struct {
		scene *scene
		want  start
	}{
		"the template in Git is quarantined, so that its unchanged tip does not bring it back": {
			held(10).but(rollback("true")).at(1, 5),
			start{
				Attempt: 2, Update: "v1", Stable: "v1", To: "v1", Resolved: back,
				Quarantined: []string{"given-v2"}, GatesAndProgressAreReset: true,
			},
		},
		"it is quarantined once": {
			rollingBack(10).keep("v0").but(rollback("v0")),
			start{
				Attempt: 2, Update: "v0", Stable: "v2", To: "v0", GatesAndProgressAreReset: true,
				Resolved:    v1alpha1.ResolvedTemplate{Given: "given-v2", Digest: "digest-v0", Revision: "v0"},
				Quarantined: []string{"given-v2"},
			},
		},
		"what is being released is, if no template is given any more": {
			held(10).but(rollback("true")).but(func(o *Observation) { o.Given = "" }),
			start{
				Attempt: 2, Update: "v1", Stable: "v1", To: "v1", GatesAndProgressAreReset: true,
				Resolved: back, Quarantined: []string{"given-v2"},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := next(t, test.scene).Status
			got := start{
				Attempt: s.Attempt, Update: s.UpdateRevision, Stable: s.StableRevision, To: s.RolledBackTo(),
				Resolved: *s.Resolved, Quarantined: s.Quarantined, Step: s.CurrentStepIndex, Target: s.TargetReplicas,
				GatesAndProgressAreReset: s.Gates == nil && s.Progress == nil && s.Replicas == 0,
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("start of the rollback (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRollbackTarget(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		asked string
		want  string
	}{
		"in a release it is the stable revision":             {held(10).keep("v0").stable("v1", "v0"), "true", "v1"},
		"after a release it is the last stable one":          {completed(10).keep("v0").stable("v1", "v0"), "true", "v0"},
		"before the first release it is the last stable one": {running(10).keep("v0").stable("", "v0"), "true", "v0"},
		"a release that a pass has begun and not recorded is left for what was stable": {
			held(10).keep("v0").stable("v1", "v0").status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Phase, s.Resolved, s.UpdateRevision, s.StableRevision = v1alpha1.PhaseCompleted, resolved("v1"), "v1", "v1"
			}),
			"true", "v1",
		},
		"the very first release, too": {
			held(10).status(func(s *v1alpha1.BatchReleaseStatus) { *s = v1alpha1.BatchReleaseStatus{} }), "true", "v1",
		},
		"the very first release whose last status was not written, too": {
			held(10).status(func(s *v1alpha1.BatchReleaseStatus) { s.StableRevision = "" }), "true", "v1",
		},
		"the very first release that is not taken over yet is left for what runs": {
			running(10).keep("v1").status(begun), "true", "v1",
		},
		"a commit is taken in short":           {held(10).recorded("v0", Record{Commit: "abcdef0123456789"}), "ABCDEF0", "v0"},
		"but not shorter than people quote it": {held(10).recorded("v0", Record{Commit: "abcdef0123456789"}), "abcdef", ""},
		"a commit that several begin like is none": {
			held(10).recorded("v0", Record{Commit: "abcdef01"}).recorded("v8", Record{Commit: "abcdef02"}), "abcdef0", "",
		},
		"a commit whose template was rolled back is none": {
			held(10).recorded("v0", Record{Commit: "abcdef01", Outcome: v1alpha1.OutcomeRolledBack}), "abcdef01", "",
		},
		"nor is that template by its revision":                           {held(10).recorded("v0", Record{Outcome: v1alpha1.OutcomeRolledBack}), "v0", ""},
		"a revision that is named is taken":                              {held(10).keep("v0"), "v0", "v0"},
		"there may be none":                                              {completed(10), "true", ""},
		"a stable revision without a kept template is none":              {held(10).but(func(o *Observation) { o.Kept = nil }), "true", ""},
		"what is kept under no name is not what none asks for":           {running(10).keep(""), "true", ""},
		"in mid-release the update revision may be named: its pods stay": {held(10).keep("v2"), "v2", "v2"},
		"after the release its revision may not be named":                {completed(10), "v1", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, why := rollbackTarget(test.scene.look(), test.asked)
			got := ""
			if target != nil {
				got = target.Revision
			}
			if got != test.want || (target == nil) != (why.why != 0) {
				t.Errorf("target of rollback=%s is %q (%s), want %q", test.asked, got, why.words(), test.want)
			}
		})
	}
}

func TestAnswerRetry(t *testing.T) {
	t.Parallel()
	failed := func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.Reason = v1alpha1.PhaseFailed, v1alpha1.ReasonDeadlineExceeded
	}
	upgrading := "RollingUpdate 1/3 Upgrade StepUpgrading"
	checkPlans(t, map[string]planned{
		"a failed release goes on, which is durable before the annotation goes": {
			held(10).status(failed).but(retry),
			outcome{StatusFirst: true, Is: upgrading},
		},
		"then the annotation goes, and the step is on its way again": {
			held(10).but(retry).sets(set("v1", 10), set("v2", 1, available(0))),
			outcome{
				Script: []string{"annotate release -retry: the retry is recorded"},
				Wake:   longestLook, Is: upgrading,
			},
		},
		"a completed release has nothing to retry": {
			completed(10).resolved("v1").but(retry),
			outcome{
				Script: []string{"annotate release -retry: the retry is recorded"},
				Is:     "Completed 3/3 Completed Completed",
			},
		},
	})
}

func TestARetryHasTheWholeDeadlineAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  v1alpha1.Phase
	}{
		"a failed release goes on as a release":   {held(10), v1alpha1.PhaseRollingUpdate},
		"a failed rollback goes on as a rollback": {rollingBack(10), v1alpha1.PhaseRollingBack},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := next(t, test.scene.but(retry).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Phase = v1alpha1.PhaseFailed
				s.Progress.Since.Time = noon.Add(-tenMinutes)
			})).Status
			if got.Phase != test.want || !got.Progress.Since.Time.Equal(noon) {
				t.Errorf("phase %s with a deadline from %s, want %s from %s", got.Phase, got.Progress.Since.Time, test.want, noon)
			}
		})
	}
}

func TestTurnRound(t *testing.T) {
	t.Parallel()
	late := watchedFor(tenMinutes)
	turning := func(o *Observation) { o.Release.Spec.Strategy.OnFailure = v1alpha1.FailureRollback }
	failing := failing("1 of 1 CrashLoopBackOff")
	stuck := func() *scene {
		return held(10).but(late).but(failing).sets(set("v1", 10), set("v2", 1, available(0)))
	}
	turningManual := manual
	turningManual.OnReject = v1alpha1.RejectRollback
	asked := func(g *v1alpha1.Gate) { g.Spec.Policy = turningManual }
	rejectedAt := func() *scene {
		return held(10).steps(step("1", turningManual), step("100%")).sets(set("v1", 9), set("v2", 1)).gates(gate(1, 0, 0, rejected, asked))
	}
	const turned = "RollingBack - Initial RollingBack"
	checkPlans(t, map[string]planned{
		"a rejected gate counts though the pods of its step have failed since": {
			rejectedAt().sets(set("v1", 9), set("v2", 1, available(0))).status(blocked(v1alpha1.StepBlocking, "web-v2-1-0-0")),
			outcome{StatusFirst: true, Is: turned},
		},
		"a release that fails goes back if it is told to, and writes nothing before that is durable": {
			stuck().but(turning), outcome{StatusFirst: true, Is: turned},
		},
		"it stays where it is if it is not": {
			stuck(), outcome{
				Is:      "Failed 1/3 Upgrade ProgressDeadlineExceeded",
				Stalled: "ProgressDeadlineExceeded: batch 1/3: no progress for 10m0s: 1 of 1 CrashLoopBackOff",
			},
		},
		"one that has failed goes back when it is told to": {
			stuck().but(turning).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Phase, s.Reason = v1alpha1.PhaseFailed, v1alpha1.ReasonDeadlineExceeded
			}),
			outcome{StatusFirst: true, Is: turned},
		},
		"without a version to go back to it stays": {
			stuck().but(turning).but(func(o *Observation) { o.Kept = nil }), outcome{
				Is:      "Failed 1/3 Upgrade ProgressDeadlineExceeded",
				Stalled: "ProgressDeadlineExceeded: batch 1/3: no progress for 10m0s: 1 of 1 CrashLoopBackOff",
			},
		},
		"a rollback that fails stays": {
			rollingBack(10).but(late).but(failing).but(turning).sets(set("v2", 10), set("v1", 1, available(0))), outcome{
				Is:      "Failed 1/2 Upgrade ProgressDeadlineExceeded",
				Stalled: "ProgressDeadlineExceeded: batch 1/2: no progress for 10m0s: 1 of 1 CrashLoopBackOff",
			},
		},
		"a gate that is rejected turns the release round if it says so": {
			rejectedAt(), outcome{StatusFirst: true, Is: turned},
		},
		"but not on the word of a cache: its pull request may be open again": {
			rejectedAt().but(func(o *Observation) { o.Live &^= ReadGates }), outcome{
				Script:  []string{"needs gates"},
				Is:      "RollingUpdate 1/2 Blocking GateRejected",
				Stalled: "GateRejected: batch 1/2: gate web-v2-1-0-0 was rejected: the pull request was closed",
			},
		},
	})
}

func TestOnlyWhatIsLeftIsQuarantinedByItself(t *testing.T) {
	t.Parallel()
	p, _ := turnBack(nothing(held(10).but(func(o *Observation) { o.Given = "given-v3" }).look()), v1alpha1.TriggerDeadline, "it failed")
	want := &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerDeadline, From: "v2", Digest: "digest-v2", Message: "it failed"}
	if diff := cmp.Diff(want, p.snap.record.Rollback); diff != "" {
		t.Errorf("record of the rollback (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"given-v2"}, p.snap.record.Quarantined); diff != "" {
		t.Errorf("quarantined: what was given since may be what mends it (-want +got):\n%s", diff)
	}
}

// TestInvalidStepsHoldUpNoRollback: steps that can't be read hold up no rollback: neither its
// beginning nor its way.
func TestInvalidStepsHoldUpNoRollback(t *testing.T) {
	t.Parallel()
	wrong := []v1alpha1.Step{step("1"), step("50%"), step("30%"), step("100%")}
	p := next(t, held(10).steps(wrong...).annotated(v1alpha1.RollbackAnnotation, "true"))
	if !p.StatusFirst || p.Status.RolledBackTo() != "v1" {
		t.Errorf("the rollback is not put on record: %+v", outcomeOf(p))
	}
	if p := next(t, rollingBack(10).steps(wrong...).sets(set("v2", 10))); len(p.Actions) == 0 {
		t.Errorf("the rollback does not go on: %+v", outcomeOf(p))
	}
}

// TestRollbackPastAVersion checks that a version which a rollback was sent past needs its gates
// again.
func TestRollbackPastAVersion(t *testing.T) {
	t.Parallel()
	past := rollingBack(10).stable("v1", "v0").but(keptInOrder("v0", "v1", "v2")).but(func(o *Observation) {
		for i := range o.Kept {
			o.Kept[i].Record.Outcome = v1alpha1.OutcomeReleased
		}
	}).status(func(status *v1alpha1.BatchReleaseStatus) {
		status.UpdateRevision, status.Resolved = "v0", resolved("v0")
		status.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "v2"}
	})
	for digest, want := range map[string]bool{"digest-v0": true, "digest-v1": false, "digest-v2": false} {
		if got := wasStable(past.look(), digest); got != want {
			t.Errorf("%s may be given without gates: want %t, got %t", digest, want, got)
		}
	}
}
