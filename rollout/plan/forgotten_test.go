package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestRollbackIsRecalled: a release whose status was lost knows by its history that what is given
// was rolled back: it goes back, or stays, at what was stable before, and quarantines the template
// again.
func TestRollbackIsRecalled(t *testing.T) {
	t.Parallel()
	rolledBack := func(o *Observation) { o.Kept[len(o.Kept)-1].Outcome = v1alpha1.OutcomeRolledBack }
	lost := func(s *scene) *scene {
		return s.status(func(status *v1alpha1.BatchReleaseStatus) { *status = v1alpha1.BatchReleaseStatus{} })
	}
	// writtenBack has given the workload v1 again, which Git gives too by now.
	writtenBack := func(o *Observation) {
		o.Workload.Digest, o.Workload.Revision, o.Workload.Hold.Stable = "digest-v1", "v1", ""
		o.Given, o.Resolved = "given-v1", &Resolved{ResolvedTemplate: *resolved("v1")}
	}
	older := func(o *Observation) {
		o.Kept = append(o.Kept, Kept{Name: "web-v0", Revision: "v0", Digest: "digest-v0", Number: 1})
	}
	back := recalled{Phase: v1alpha1.PhaseRollingBack, To: "v1", From: "v2", Trigger: v1alpha1.TriggerHistory, Quarantined: []string{"given-v2"}}
	released := recalled{Phase: v1alpha1.PhaseInitial}
	tests := map[string]struct {
		scene *scene
		want  recalled
	}{
		"what was rolled back stays so": {lost(completed(10).keep("v2").but(rolledBack)), back},
		"a rollback goes on whose way back has not begun": {
			lost(held(10).keep("v2").but(rolledBack).resolved("v2")), back,
		},
		"a rollback goes on": {lost(rollingBack(10).but(rolledBack).resolved("v2")), back},
		"where nothing else is known, the last stable one is gone back to": {
			lost(held(10).keep("v2").but(rolledBack).resolved("v2").stable("v2", "")), back,
		},
		"of two records of one template the last counts": {
			lost(completed(10).keep("v0", "v2").but(func(o *Observation) { o.Kept[1].Digest = "digest-v2" }).but(rolledBack)), back,
		},
		"... whichever is listed first": {
			lost(completed(10).keep("v0", "v2").but(func(o *Observation) { o.Kept[1].Digest = "digest-v2" }).but(rolledBack).but(func(o *Observation) {
				slices.Reverse(o.Kept)
			})), back,
		},
		"... where the status is there, too: all gates are asked": {
			completed(10).keep("v0", "v2").but(func(o *Observation) { o.Kept[1].Digest = "digest-v2" }).but(rolledBack), released,
		},
		"it is read as it is first": {lost(completed(10).keep("v2").but(rolledBack).but(func(o *Observation) { o.Live &^= ReadKept })), recalled{Needs: true}},
		"what was stable before is gone back to, as if Git reverted": {
			lost(completed(10).keep("v2")), recalled{Phase: v1alpha1.PhaseRollingBack, To: "v2", From: "v1", Trigger: v1alpha1.TriggerGitRevert},
		},
		"what was about to be gone back to is gone back to from what was left, not from itself": {
			lost(rollingBack(10).but(rolledBack).but(func(o *Observation) { o.Given = "given-v1" }).resolved("v1")),
			recalled{Phase: v1alpha1.PhaseRollingBack, To: "v1", From: "v2", Trigger: v1alpha1.TriggerGitRevert},
		},
		"... or from what nobody knows": {
			lost(rollingBack(10).but(func(o *Observation) { o.Given, o.Kept = "given-v1", o.Kept[:1] }).resolved("v1")),
			recalled{Phase: v1alpha1.PhaseRollingBack, To: "v1", Trigger: v1alpha1.TriggerGitRevert},
		},
		"... but not from what is stable: that stays one to go back to": {
			lost(held(10).but(writtenBack).but(func(o *Observation) { o.Kept[0].Number = 2 }).but(older)),
			recalled{Phase: v1alpha1.PhaseRollingBack, To: "v1", Trigger: v1alpha1.TriggerGitRevert},
		},
		"... also where that was kept after what was left, which was rolled back before": {
			lost(held(10).but(writtenBack).keep("v2").but(rolledBack).keep("v0")),
			recalled{Phase: v1alpha1.PhaseRollingBack, To: "v1", From: "v2", Trigger: v1alpha1.TriggerGitRevert},
		},
		"... and from what is stable where that was released": {
			lost(held(10).but(writtenBack).keep("v2").stable("v2", "v1")),
			recalled{Phase: v1alpha1.PhaseRollingBack, To: "v1", From: "v2", Trigger: v1alpha1.TriggerGitRevert},
		},
		"what is given for the first time is released": {lost(completed(10)), released},
		"a status that is there is what counts":        {completed(10).keep("v2").but(rolledBack), released},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene)
			got := recalled{Phase: p.Status.Phase, To: p.Status.RolledBackTo(), Quarantined: p.Status.Quarantined, Needs: p.Needs.Has(ReadKept)}
			if why := p.Status.Rollback; why != nil {
				got.From, got.Trigger = why.From, why.Trigger
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// recalled holds the fields of a status that describe a rollback.
type recalled struct {
	Phase       v1alpha1.Phase
	To, From    string
	Trigger     v1alpha1.RollbackTrigger
	Quarantined []string
	// Needs says that the history is to be read first.
	Needs bool
}

// TestRollbackIsRecordedFirst: the history has what is rolled back before the status says that it
// is: of a status that is lost nobody learns it.
func TestRollbackIsRecordedFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scene *scene
		want  []string
	}{
		"in mid-release": {held(10).but(rollback("true")), []string{"keep template v2 (RolledBack)"}},
		"in mid-release without pods, when the workload has the stable template": {
			withoutPods().but(rollback("true")), []string{"keep template v2 (RolledBack)"},
		},
		"... and another one is given by now, so that nobody knows what it was": {
			withoutPods().but(rollback("true")).but(func(o *Observation) { o.Given = "given-v3" }), nil,
		},
		"... and none is, whatever the status says that was": {
			withoutPods().but(rollback("true")).but(func(o *Observation) { o.Given, o.Release.Status.Resolved.Given = "", "" }), nil,
		},
		"before it has begun, when the workload never had it": {
			completed(10).keep("v0").stable("v1", "v0").but(rollback("true")).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Phase, s.CurrentStepState, s.Attempt, s.Resolved, s.UpdateRevision = v1alpha1.PhaseInitial, v1alpha1.StepInitial, 2, resolved("v2"), "v2"
			}),
			[]string{"keep template v2 (RolledBack)"},
		},
		"after the end": {completed(10).keep("v0").stable("v1", "v0").but(rollback("true")), []string{"mark template web-v1 (RolledBack)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene)
			var got []string
			for _, action := range p.Records {
				got = append(got, action.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" || !p.StatusFirst {
				t.Errorf("records before a status that is written first (%t), -want +got:\n%s", p.StatusFirst, diff)
			}
		})
	}
}
