package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func quarantined(given string) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) { s.Quarantined = []string{given} }
}

func refused(o *Observation) {
	o.Resolved = &Resolved{ResolvedTemplate: v1alpha1.ResolvedTemplate{Given: o.Given}, Refused: `unknown field "imge"`}
}

func unresolved(o *Observation) { o.Resolved = nil }

func TestChooseTemplate(t *testing.T) {
	t.Parallel()
	const (
		finalize  = "annotate release finalizer=true current-stable-revision=v1: the workload is handed back before the release goes away"
		rests     = "Completed 3/3 Completed Completed"
		refusal   = `InvalidTemplate: the API server refuses spec.template: unknown field "imge"`
		upgrading = "RollingUpdate 1/3 Upgrade StepUpgrading"
	)
	checkPlans(t, map[string]planned{
		"without any template there is nothing to release": {
			running(10).but(func(o *Observation) { o.Given = "" }),
			outcome{Is: "- - - NoTemplate", Stalled: "NoTemplate: spec.template is missing: there is nothing to release; to release what others apply to the workload, set spec.follow: Workload"},
		},
		"a template that is taken out stops nothing": {
			completed(10).but(func(o *Observation) { o.Given = "" }),
			outcome{Is: rests},
		},
		"the same template again starts nothing": {
			completed(10).resolved("v1").but(unresolved),
			outcome{Is: rests},
		},
		"the API server is asked what it makes of a new template": {
			completed(10).but(unresolved),
			outcome{Script: []string{"needs to resolve the template of the release"}, Is: rests},
		},
		"an answer for another template is none": {
			completed(10).but(func(o *Observation) { o.Given = "given-v3" }),
			outcome{Script: []string{"needs to resolve the template of the release"}, Is: rests},
		},
		"a first template that is refused is tried again: a quota or a policy may change": {
			running(10).but(refused),
			outcome{Is: "- - - InvalidTemplate", Stalled: refusal, Wake: refusalRetry},
		},
		"a completed release stays so if the next template is refused, and says why": {
			completed(10).but(refused),
			outcome{Is: rests, Stalled: refusal, Wake: refusalRetry},
		},
		"a change in fields alone that can't be compared is told, and not taken for none": {
			completed(10).but(func(o *Observation) {
				o.Given, o.Resolved.Given, o.Resolved.Overlooked = "given-v9", "given-v9", "a is 2, and has been 1"
			}),
			outcome{
				Is: rests, Wake: refusalRetry,
				Stalled: "InvalidTemplate: spec.template can't be compared with what runs: a is 2, and has been 1: install a newer version",
			},
		},
		"a release under way goes on with the template it has if the next is refused": {
			held(10).resolved("v3").but(refused).sets(set("v1", 10), set("v2", 1, available(0))),
			outcome{Is: upgrading, Stalled: refusal, Wake: longestLook},
		},
		"a template that differs as text only starts nothing": {
			completed(10).resolved("v1").but(func(o *Observation) {
				o.Given, o.Resolved.Given = "given-v1-reordered", "given-v1-reordered"
			}),
			outcome{Is: rests},
		},
		"a new one is released": {
			running(10),
			outcome{
				Script: []string{
					"keep template v1 (Adopted): kept to roll back to", finalize,
					"take over with the template of the release: release v2",
				},
				Is: "Initial - Initial TakingOver",
			},
		},
		"a new one in mid-release is released instead, from the first step": {
			held(10).at(1, 5).resolved("v3"),
			outcome{
				Script: []string{"take over with the template of the release: release v3 instead"},
				Is:     "Initial - Initial TakingOver",
			},
		},
		"a new one during a rollback leaves the version that was gone back to as the stable one": {
			rollingBack(10).resolved("v3"),
			outcome{
				Script: []string{
					"mark template web-v2 (RolledBack): it was rolled back",
					"annotate release current-stable-revision=v1 -last-stable-revision: revision v1 is stable",
					"take over with the template of the release: release v3 instead",
				},
				Is: "Initial - Initial TakingOver",
			},
		},
		"one that was rolled back is not released again": {
			completed(10).status(quarantined("given-v2")),
			outcome{Is: rests},
		},
		"nor is it when the status has lost what was released": {
			running(10).status(quarantined("given-v2")),
			outcome{Is: "- - - RolledBack"},
		},
		"what was stable before, brought back in Git, is a rollback": {
			completed(10).keep("v2"),
			outcome{
				Script: []string{"take over with the template of the release: release v2"},
				Is:     "RollingBack - Initial RollingBack",
			},
		},
		"a first release of what the workload runs ends at once": {
			running(10).keep("v1").resolved("v1").finalized().stable("v1", ""),
			outcome{Is: "Completed 3/3 Completed Completed"},
		},
		"an unfinished pass of ours had taken the workload over for what was stable: a rollback still": {
			held(10).keep("v2").resolved("v2").status(notEntered).status(func(s *v1alpha1.BatchReleaseStatus) { s.Resolved = nil }).
				sets(set("v1", 10), set("v2", 1, available(0))),
			outcome{Is: "RollingBack 1/2 Upgrade RollingBack", Wake: longestLook},
		},
	})
}

func TestARevertedTemplateIsNoLongerQuarantined(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"as long as Git has what was rolled back it is quarantined": {
			completed(10).status(quarantined("given-v2")), []string{"given-v2"},
		},
		"Git says again what runs: what it says next counts, whatever it is": {
			completed(10).resolved("v1").status(quarantined("given-v2")).
				status(func(s *v1alpha1.BatchReleaseStatus) { s.Resolved.Given = "given-v2" }),
			nil,
		},
		"written in another way it is the same": {
			completed(10).keep("v2").resolved("v2").but(func(o *Observation) { o.Given, o.Resolved.Given = "given-v2-again", "given-v2-again" }).
				status(quarantined("given-v2")).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "v2", Digest: "digest-v2"}
			}),
			[]string{"given-v2", "given-v2-again"},
		},
		"what Git no longer gave when it was rolled back may be released": {
			completed(10).keep("v2").resolved("v2").but(func(o *Observation) { o.Given, o.Resolved.Given = "given-v2-again", "given-v2-again" }).
				status(quarantined("given-v3")).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "v2"}
			}),
			nil,
		},
		"a third template lifts it too": {completed(10).resolved("v3").status(quarantined("given-v2")), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, next(t, test.scene).Status.Quarantined); diff != "" {
				t.Errorf("quarantined (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGitFollowsARollback: once Git gives what a rollback brought back, the release is as it is
// after a revert in Git; and remembers how the one ended that was rolled back.
func TestGitFollowsARollback(t *testing.T) {
	t.Parallel()
	back := func(phase v1alpha1.Phase, given string, trigger v1alpha1.RollbackTrigger, quarantined ...string) *scene {
		return completed(10).resolved("v1").keep("v1").stable("v1", "").annotated(v1alpha1.CommitAnnotation, "c0ffee").status(func(s *v1alpha1.BatchReleaseStatus) {
			s.Phase, s.Commit, s.Attempt, s.Quarantined = phase, "bad", 2, quarantined
			s.Rollback = &v1alpha1.RollbackRecord{Trigger: trigger, From: "v2", Message: "it was asked for"}
			s.Resolved.Given = given
		})
	}
	rolledBack := []v1alpha1.EndedRelease{{Commit: "bad", Revision: "v1", Replicas: 10, Trigger: v1alpha1.TriggerAnnotation}}
	tests := map[string]struct {
		scene   *scene
		commit  string
		trigger v1alpha1.RollbackTrigger
		ended   []v1alpha1.EndedRelease
	}{
		"after it has ended": {back(v1alpha1.PhaseCompleted, "given-v2", v1alpha1.TriggerAnnotation, "given-v2"), "c0ffee", v1alpha1.TriggerGitRevert, rolledBack},
		"before it ends":     {back(v1alpha1.PhaseFinalizing, "given-v2", v1alpha1.TriggerAnnotation, "given-v2"), "c0ffee", v1alpha1.TriggerGitRevert, rolledBack},
		"a pass earlier":     {back(v1alpha1.PhaseCompleted, "given-v1", v1alpha1.TriggerAnnotation), "c0ffee", v1alpha1.TriggerGitRevert, rolledBack},
		"not yet":            {back(v1alpha1.PhaseCompleted, "given-v2", v1alpha1.TriggerAnnotation, "given-v1"), "bad", v1alpha1.TriggerAnnotation, nil},
		"Git asked for it":   {back(v1alpha1.PhaseCompleted, "given-v1", v1alpha1.TriggerGitRevert), "bad", v1alpha1.TriggerGitRevert, nil},
		"it was drift":       {back(v1alpha1.PhaseCompleted, "given-v1", v1alpha1.TriggerDrift), "bad", v1alpha1.TriggerDrift, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := next(t, test.scene).Status
			if got.Phase != v1alpha1.PhaseCompleted || got.RolledBackTo() != "v1" || got.Commit != test.commit || got.Rollback.Trigger != test.trigger {
				t.Errorf("%s of commit %s, rolled back to %s: %+v; want it of commit %s, by %s", got.Phase, got.Commit, got.RolledBackTo(), got.Rollback, test.commit, test.trigger)
			}
			if diff := cmp.Diff(test.ended, got.Ended); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAttemptIsOneThatNoGateSpeaksOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  int64
	}{
		"the first is 1":                             {running(10), 1},
		"the next is one more":                       {held(10).resolved("v3"), 2},
		"a lost status does not let old gates count": {running(10).gates(gate(4, 0, 0), gate(2, 0, 0)), 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := next(t, test.scene).Status.Attempt; got != test.want {
				t.Errorf("attempt %d, want %d", got, test.want)
			}
		})
	}
}

func TestAReleaseRemembersTheCommitThatBroughtIt(t *testing.T) {
	t.Parallel()
	s := running(10).annotated(v1alpha1.CommitAnnotation, "c0ffee")
	if got := next(t, s).Status.Commit; got != "c0ffee" {
		t.Errorf("commit %q, want that of the annotation when the release starts", got)
	}
}
