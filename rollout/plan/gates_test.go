package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

const opens = "open gate web-v2-1-0-0 (manual): batch 1/3 is done"

// doneStep returns a scene with the first step done: one pod is updated, and the gate after it is
// open.
func doneStep() *scene { return held(10).sets(set("v1", 9), set("v2", 1)) }

// blocked says that the status names the gates; with a user's patch, if there is one.
func blocked(state v1alpha1.StepState, names ...string) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) {
		s.CurrentStepState, s.Reason = state, v1alpha1.ReasonBlocking
		for _, name := range names {
			s.Gates = append(s.Gates, v1alpha1.GateReference{Name: name, Type: v1alpha1.GateManual})
		}
	}
}

// asking gives a gate its policy.
func asking(policy v1alpha1.GatePolicy) func(*v1alpha1.Gate) {
	return func(g *v1alpha1.Gate) { g.Spec.Type, g.Spec.Policy = policy.Type(), policy }
}

// forcedBy has a gate passed past its policy.
func forcedBy(user, reason string) func(*v1alpha1.Gate) {
	return func(g *v1alpha1.Gate) {
		g.Status.Force = &v1alpha1.Force{By: user, Reason: reason}
		g.Status.Evidence = []v1alpha1.Evidence{{Kind: v1alpha1.EvidenceForced, Actor: user, Detail: reason}}
	}
}

// asksForce has somebody write status.force, and nobody has acted on it.
func asksForce(user string) func(*v1alpha1.Gate) {
	return func(g *v1alpha1.Gate) { g.Status.Force = &v1alpha1.Force{By: user, Reason: "as if"} }
}

// TestUndecidedIsNamed: the status says of which gate an approver has to decide.
func TestUndecidedIsNamed(t *testing.T) {
	t.Parallel()
	undecided := func(g *v1alpha1.Gate) { g.Status.Undecided = true }
	snap := doneStep().gates(gate(1, 0, 0, undecided)).status(blocked(v1alpha1.StepBlocking, "web-v2-1-0-0")).look()
	next := openGates(nothing(snap), []indexed{{policy: v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}}})
	if got := next.snap.record.Gates; len(got) != 1 || !got[0].Undecided {
		t.Errorf("got %+v, want one undecided gate", got)
	}
}

// TestForcedIsKept: answers to a gate end with its step, and the record of a forced gate stays
// with the release until the next.
func TestForcedIsKept(t *testing.T) {
	t.Parallel()
	want := []v1alpha1.ForcedGate{{Step: 0, Type: v1alpha1.GateManual, Force: v1alpha1.Force{By: "ada", Reason: "INC-42"}}}
	blocking := blocked(v1alpha1.StepBlocking, "web-v2-1-0-0")
	answered := func(s *v1alpha1.BatchReleaseStatus) { s.Answers = []v1alpha1.Answer{{Gate: "uid", By: "ada"}} }
	snap := doneStep().gates(gate(1, 0, 0, passed, forcedBy("ada", "INC-42"))).status(blocking).status(answered).look()
	p, _ := passStep(nothing(snap), taskOf(snap, snap.record.TargetReplicas), traffic.Standing{Done: true})
	if diff := cmp.Diff(want, p.snap.record.Forced); diff != "" {
		t.Errorf("status.forced (-want +got):\n%s", diff)
	}
	if len(p.snap.record.Answers) > 0 {
		t.Errorf("want no answers in the next step, got %+v", p.snap.record.Answers)
	}
	p = noteForced(p)
	if len(p.snap.record.Forced) != 1 {
		t.Errorf("want each gate noted once, got %+v", p.snap.record.Forced)
	}
	for name, late := range map[string]*scene{
		"that had passed":          doneStep().gates(gate(1, 0, 0, passed, by("ada"), asksForce("eve"))),
		"that was forced already":  doneStep().gates(gate(1, 0, 0, passed, forcedBy("ada", "INC-42"), asksForce("eve"))),
		"that nobody has yet read": doneStep().gates(gate(1, 0, 0, asksForce("eve"))),
	} {
		q := noteForced(nothing(late.status(blocking).look()))
		for _, forced := range q.snap.record.Forced {
			if forced.By == "eve" {
				t.Errorf("a gate %s is on record as forced by whoever wrote status.force since: %+v", name, forced)
			}
		}
	}
	again := doneStep().gates(gate(1, 0, 0, passed, forcedBy("ada", "INC-42")), gate(2, 0, 0, passed, by("bob"))).
		status(func(s *v1alpha1.BatchReleaseStatus) { s.Attempt = 2 }).look()
	if q := noteForced(nothing(again)); len(q.snap.record.Forced) > 0 {
		t.Errorf("a gate that was forced in an earlier attempt is on record for this one: %+v", q.snap.record.Forced)
	}
	p = begin(p, v1alpha1.ResolvedTemplate{Revision: "v3"}, nil)
	if len(p.snap.record.Forced) > 0 {
		t.Errorf("want nothing forced in the next release, got %+v", p.snap.record.Forced)
	}
}

func TestGatesStopAStepThatIsDone(t *testing.T) {
	t.Parallel()
	const (
		blocks    = "RollingUpdate 1/3 Blocking StepBlocking"
		moving    = "RollingUpdate 1/3 Blocking StepUpgrading"
		confirmed = "RollingUpdate 1/3 Completed StepBlocking"
		upgrading = "RollingUpdate 1/3 Upgrade StepUpgrading"
		second    = "RollingUpdate 2/3 Upgrade StepUpgrading"
		name      = "web-v2-1-0-0"
		grows     = "scale v2 1 -> 2: batch 2/3"
		edited    = "close gate web-v2-1-0-0: the steps were edited"
	)
	blocking := blocked(v1alpha1.StepBlocking, name)
	checkPlans(t, map[string]planned{
		"a gate opens when the pods are as the step says, and nothing else is done": {
			doneStep(), outcome{Script: []string{opens}, Is: blocks},
		},
		"it does not open before: the pod is not available": {
			held(10).sets(set("v1", 10), set("v2", 1, available(0))), outcome{Is: upgrading, Wake: longestLook},
		},
		"it does not open before: an old pod is still to go": {
			held(10).sets(set("v1", 10), set("v2", 1)),
			outcome{Script: []string{"scale v1 10 -> 9: batch 1/3"}, Is: upgrading, Wake: longestLook},
		},
		"it does not open before the old pods are as many as a new spec.replicas leaves": {
			held(15).scaledFrom(10).sets(set("v1", 9), set("v2", 1)),
			outcome{
				Script: []string{"scale v1 9 -> 14: more replicas: the added pods run the old version"},
				Is:     upgrading, Wake: longestLook,
			},
		},
		"it does not open before the old pod is gone": {
			held(10).sets(set("v1", 9, current(10)), set("v2", 1)), outcome{Is: upgrading, Wake: longestLook},
		},
		"it does not open on a status that speaks of an earlier spec": {
			held(10).sets(set("v1", 9, unobserved), set("v2", 1)), outcome{Is: upgrading, Wake: longestLook},
		},
		"a gate that is open is waited for without an end": {
			doneStep().gates(gate(1, 0, 0)).status(blocking), outcome{Is: blocks},
		},
		"one that passed lets the next step begin in the same pass": {
			doneStep().gates(gate(1, 0, 0, passed)).status(blocking),
			outcome{Script: []string{grows}, Is: second, Wake: longestLook},
		},
		"once it is open a pod that goes away does not close it": {
			held(10).sets(set("v1", 9, current(10)), set("v2", 1)).gates(gate(1, 0, 0, passed)).status(blocking),
			outcome{Is: second, Wake: longestLook}, // and then the next pod comes
		},
		"but the step must be done for it to be passed": {
			held(10).sets(set("v1", 9), set("v2", 1, available(0))).gates(gate(1, 0, 0, passed)).status(blocking),
			outcome{Is: moving},
		},
		"a decision counts only when release, sets and gates were read live": {
			doneStep().gates(gate(1, 0, 0, passed)).status(blocking).cached(),
			outcome{Script: []string{"needs release, counts, gates"}, Is: moving},
		},
		"all gates of a step must pass": {
			doneStep().steps(step("1", soak, manual), step("50%"), step("100%")).gates(gate(1, 0, 0, passed), gate(1, 0, 1)).
				status(blocked(v1alpha1.StepBlocking, name, "web-v2-1-0-1")),
			outcome{Is: blocks},
		},
		"a gate that is gone is opened again": {
			doneStep().status(blocking), outcome{Script: []string{opens}, Is: blocks},
		},
		"a confirmation stays in the status until the gate is judged": {
			doneStep().gates(gate(1, 0, 0)).status(blocked(v1alpha1.StepCompleted, name)), outcome{Is: confirmed},
		},
		"a confirmation of gates that are not this step's is none": {
			doneStep().gates(gate(1, 0, 0)).status(blocked(v1alpha1.StepCompleted, "web-v2-1-7-0")), outcome{Is: blocks},
		},
		"a confirmation of fewer gates than there are is none": {
			doneStep().steps(step("1", manual, soak), step("50%"), step("100%")).gates(gate(1, 0, 0), gate(1, 0, 1, asking(soak))).
				status(blocked(v1alpha1.StepCompleted, name)),
			outcome{Is: blocks},
		},
		"a confirmation before any gate is open is none": {
			doneStep().status(blocked(v1alpha1.StepCompleted)), outcome{Script: []string{opens}, Is: blocks},
		},
		"a confirmation of what no person decides is none": {
			doneStep().steps(step("1", soak), step("50%"), step("100%")).gates(gate(1, 0, 0, asking(soak))).
				status(blocked(v1alpha1.StepCompleted, name)),
			outcome{Is: blocks},
		},
		"a gate that was rejected stops the release, confirmed or not": {
			doneStep().gates(gate(1, 0, 0, rejected)).status(blocked(v1alpha1.StepCompleted, name)),
			outcome{
				Is:      "RollingUpdate 1/3 Blocking GateRejected",
				Stalled: "GateRejected: batch 1/3: gate web-v2-1-0-0 was rejected: the pull request was closed",
			},
		},
		"one that waits again, for its pull request was opened again, is waited for": {
			doneStep().gates(gate(1, 0, 0)).status(rejectedBefore(name)), outcome{Is: blocks},
		},
		"one that passed after it was rejected lets the next step begin": {
			doneStep().gates(gate(1, 0, 0, passed)).status(rejectedBefore(name)),
			outcome{Script: []string{grows}, Is: second, Wake: longestLook},
		},
		"no gate is opened while one of its name is still to go": {
			doneStep().gates(gate(1, 0, 0, leaving)).status(blocking), outcome{Is: blocks},
		},
		"not even where that one belonged to an earlier release of the name": {
			doneStep().gates(gate(1, 0, 0, leaving, func(g *v1alpha1.Gate) { g.Spec.ReleaseRef.UID = "release-0" })), outcome{Is: blocks},
		},
		"what others have opened is no reason to wait": {
			doneStep().gates(gate(1, 0, 1, leaving)), outcome{Script: []string{opens}, Is: blocks},
		},
		"a gate that is taken out of the step is waited for no more": {
			doneStep().steps(step("1", none), step("50%"), step("100%")).gates(gate(1, 0, 0)).status(blocking),
			outcome{Script: []string{edited, grows}, Is: second, Wake: longestLook},
		},
		"so it is where others are left": {
			doneStep().gates(gate(1, 0, 0), gate(1, 0, 1, asking(soak))).status(blocking),
			outcome{Script: []string{"close gate web-v2-1-0-1: the steps were edited"}, Is: blocks},
		},
		"one that passed stays as the record": {
			doneStep().steps(step("1", none), step("50%"), step("100%")).gates(gate(1, 0, 0, passed)).status(blocking),
			outcome{Script: []string{grows}, Is: second, Wake: longestLook},
		},
		"a gate that is asked for in other words is deleted, and another opened when it is gone": {
			doneStep().steps(step("1", soak), step("50%"), step("100%")).gates(gate(1, 0, 0)).status(blocking),
			outcome{Script: []string{edited}, Is: blocks},
		},
		"so is one that was rejected": {
			doneStep().steps(step("1", soak), step("50%"), step("100%")).gates(gate(1, 0, 0, rejected)).status(rejectedBefore(name)),
			outcome{Script: []string{edited}, Is: blocks},
		},
		"one that passed has passed, in whatever words": {
			doneStep().steps(step("1", soak), step("50%"), step("100%")).gates(gate(1, 0, 0, passed)).status(blocking),
			outcome{Script: []string{grows}, Is: second, Wake: longestLook},
		},
		"it may have passed by now": {
			doneStep().steps(step("1", soak), step("50%"), step("100%")).gates(gate(1, 0, 0)).status(blocking).cached(),
			outcome{Script: []string{"needs gates"}, Is: blocks},
		},
	})
}

// TestAGateNamesTheCommitThatRanBefore: a gate names the commit that ran before, so that authors
// of later commits can be kept from approving it.
func TestAGateNamesTheCommitThatRanBefore(t *testing.T) {
	t.Parallel()
	released := func(commit string, number int64) Record {
		return Record{Outcome: v1alpha1.OutcomeReleased, Commit: commit, Attempt: number}
	}
	tests := map[string]struct {
		kept []Kept
		want string
	}{
		"of the stable revision": {
			[]Kept{{Revision: "v0", Number: 1, Record: released("c0", 1)}, {Revision: "v1", Number: 2, Record: released("c1", 2)}}, "c1",
		},
		"the last that was released, where somebody has rolled out another by hand": {
			[]Kept{{Revision: "v9", Number: 1, Record: released("c9", 1)}, {Revision: "v0", Number: 2, Record: released("c0", 2)}, {Revision: "v1", Number: 3}}, "c0",
		},
		"not of what was rolled back, nor of what is being released": {
			[]Kept{
				{Revision: "v2", Number: 2, Record: released("c2", 1)},
				{Revision: "v3", Number: 3, Record: Record{Outcome: v1alpha1.OutcomeRolledBack, Commit: "c3"}}, {Revision: "v1", Number: 1},
			}, "",
		},
		"not what an applier claimed while the release followed its workload": {
			[]Kept{
				{Revision: "v0", Number: 1, Record: released("c0", 1)},
				{Revision: "v1", Number: 2, Record: Record{Outcome: v1alpha1.OutcomeReleased, Commit: "c1", Attempt: 2, Claimed: true}},
			}, "c0",
		},
		"none that is known": {[]Kept{{Revision: "v1", Number: 1}}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := doneStep()
			s.Kept = tc.kept
			for i := range s.Kept {
				s.Kept[i].Name, s.Kept[i].Digest = "web-"+s.Kept[i].Revision, "digest-"+s.Kept[i].Revision
			}
			opened := 0
			for _, action := range next(t, s).Actions {
				if open, is := action.(OpenGate); is {
					opened++
					if got := open.Spec.StableCommit; got != tc.want {
						t.Errorf("stable commit %q, want %q", got, tc.want)
					}
				}
			}
			if opened == 0 {
				t.Error("want a gate opened")
			}
		})
	}
}

// TestAGateNamesNoClaimedCommit: a release that stops to follow its workload in mid-release, as Git
// has the same template, gets no gate about the commit that the applier claimed.
func TestAGateNamesNoClaimedCommit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ copied, inGit, want string }{
		"claimed":       {"digest-v2", "c2", ""},
		"as Git has it": {"digest-v2", "c1", "c1"},
		"of Git":        {"digest-v1", "c2", "c1"},
		"never copied":  {"", "c2", "c1"},
	} {
		s := doneStep().but(func(o *Observation) {
			o.Release.Status.Commit, o.Release.Status.Resolved.Digest = "c1", "digest-v2"
			o.Release.Annotations = map[string]string{v1alpha1.FollowedAnnotation: tc.copied, v1alpha1.CommitAnnotation: tc.inGit}
		})
		if got := s.look().gates().spec(indexed{policy: v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}}).Commit; got != tc.want {
			t.Errorf("%s: commit %q, want %q", name, got, tc.want)
		}
	}
}

// TestARefusedApprovalIsTold: an approval that was merged in vain is told as such: nothing goes on
// before somebody does something.
func TestARefusedApprovalIsTold(t *testing.T) {
	t.Parallel()
	approval := v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}}
	s := doneStep().steps(step("1", approval), step("100%")).at(0, 1).gates(gate(1, 0, 0, func(g *v1alpha1.Gate) {
		g.Spec.Policy, g.Spec.Type = approval, v1alpha1.GatePullRequest
		g.Status.PullRequest = &v1alpha1.PullRequestReference{Number: 4}
		g.Status.Refusal = &v1alpha1.Refusal{Message: "by ada, who wrote the release: another person must approve"}
	}))
	result := next(t, s)
	got := result.Status
	const want = "batch 1/2 done with 1 pod of 10, waiting for approval #4, which was merged and refused: by ada, who wrote the release: another person must approve"
	if got.Message != want || got.Reason != v1alpha1.ReasonApprovalRefused || got.CurrentStepState != v1alpha1.StepBlocking {
		t.Errorf("got %s, %s: %s", got.CurrentStepState, got.Reason, got.Message)
	}
	if diff := cmp.Diff([]Event{{Warning: true, Reason: v1alpha1.ReasonApprovalRefused, Message: want}}, result.Events); diff != "" {
		t.Errorf("people are warned: -want +got:\n%s", diff)
	}
}
