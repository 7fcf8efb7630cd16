package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestStateIsTold: the status has values for everything that clients decide on.
func TestStateIsTold(t *testing.T) {
	t.Parallel()
	type told struct {
		State   v1alpha1.ReleaseState
		Stopped []v1alpha1.StopCause
		Stalled v1alpha1.StallCause
	}
	by := func(causes ...v1alpha1.StopCause) []v1alpha1.StopCause { return causes }
	grown := func() *scene { return held(10).at(1, 5).sets(set("v1", 6), set("v2", 4)) }
	lost := func(o *Observation) { o.Workload = nil }
	failed := func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }
	tests := map[string]struct {
		scene *scene
		want  told
	}{
		"pods are moved":                    {grown(), told{State: v1alpha1.StateRolling}},
		"a step waits for its gates":        {doneStep().gates(gate(1, 0, 0)), told{State: v1alpha1.StateBlocked}},
		"a gate was rejected":               {doneStep().gates(gate(1, 0, 0, rejected)), told{State: v1alpha1.StateRejected, Stalled: v1alpha1.StallGateRejected}},
		"all causes, the first one first":   {grown().but(suspended).but(onRecord), told{State: v1alpha1.StateStopped, Stopped: by(v1alpha1.StopSuspended, v1alpha1.StopWorkloadChanged)}},
		"a rollback is not stopped":         {rollingBack(10).sets(set("v1", 5), set("v2", 5)).but(suspended), told{State: v1alpha1.StateRolling, Stopped: by(v1alpha1.StopSuspended)}},
		"steps that can't be read":          {grown().spoiled(), told{State: v1alpha1.StateStopped, Stopped: by(v1alpha1.StopInvalidStrategy), Stalled: v1alpha1.StallInvalidStrategy}},
		"it failed":                         {grown().status(failed), told{State: v1alpha1.StateFailed, Stalled: v1alpha1.StallDeadlineExceeded}},
		"it completed":                      {completed(10).resolved("v1"), told{State: v1alpha1.StateCompleted}},
		"a template waits":                  {completed(10).resolved("v2").but(suspended), told{State: v1alpha1.StateWaiting, Stopped: by(v1alpha1.StopSuspended)}},
		"nothing is in progress":            {completed(10).resolved("v1").but(suspended), told{State: v1alpha1.StateCompleted, Stopped: by(v1alpha1.StopSuspended)}},
		"there is no room":                  {completed(10).resolved("v2").finding(full, nil), told{State: v1alpha1.StateWillNotFit}},
		"there is no workload":              {completed(10).resolved("v1").but(lost), told{State: v1alpha1.StateWorkloadNotFound}},
		"it is about to be taken over":      {completed(10).resolved("v2"), told{State: v1alpha1.StateStarting}},
		"it has drifted since it completed": {completed(10).resolved("v1").changed().differing(image), told{State: v1alpha1.StateDrifted}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := next(t, test.scene).Status
			if diff := cmp.Diff(test.want, told{s.State, s.StoppedBy, s.StalledBy}); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPreflightIsAnEventWhenItBegins: a finding of preflight becomes one event when it begins, and
// one when the release fits again.
func TestPreflightIsAnEventWhenItBegins(t *testing.T) {
	t.Parallel()
	ready := func() *scene { return completed(10).resolved("v2") }
	warns := func(o *Observation) { o.Release.Spec.Strategy.Preflight = v1alpha1.PreflightWarn }
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"a warning":                         {ready().finding(nil, budget), []string{v1alpha1.ReasonWarnings}},
		"told before":                       {ready().finding(nil, budget).saved(), []string{v1alpha1.ReasonTakingOver}},
		"it does not fit, and goes on":      {ready().but(warns).finding(full, nil), []string{v1alpha1.ReasonWillNotFit}},
		"it does not fit any more":          {ready().but(warns).finding(nil, budget).saved().finding(full, budget), []string{v1alpha1.ReasonWillNotFit}},
		"it does not fit, and waits":        {ready().finding(full, nil), []string{v1alpha1.ReasonWillNotFit}},
		"it waits for less, and says so":    {ready().finding(full, nil).saved().finding([]string{"the quota is nearly full"}, nil), []string{v1alpha1.ReasonWillNotFit}},
		"of an earlier version, it goes on": {ready().finding(nil, nil), []string{v1alpha1.ReasonTakingOver}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, event := range next(t, test.scene).Events {
				got = append(got, event.Reason)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPodsAreCountedBesideAForeignTemplate: where somebody else's template is in a workload and
// can't be put back, the status still tells of the pods of the release.
func TestPodsAreCountedBesideAForeignTemplate(t *testing.T) {
	t.Parallel()
	take := TakeOver{Template: &Template{Given: true}}
	s := half().sets(set("v1", 5), set("v2", 5, available(3))).but(func(o *Observation) {
		o.Workload.Digest, o.Workload.Revision = "digest-v9", "v9"
		o.Resolved = &Resolved{ResolvedTemplate: *resolved("v2")}
		o.Refusals = o.Refusals.With(Refusal{Write: take.name(), Why: "a policy says so", Generation: o.Release.Generation}, o.Now, 0)
	})
	p := next(t, s)
	if r := p.Status; len(p.Actions) > 0 || r.UpdatedReplicas != 5 || r.UpdatedAvailableReplicas != 3 {
		t.Errorf("want nothing written, and 5 updated pods, 3 of them available; got %q, %d and %d", script(p), r.UpdatedReplicas, r.UpdatedAvailableReplicas)
	}
}
