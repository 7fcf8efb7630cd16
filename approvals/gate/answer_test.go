package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestAnswer: a manual gate is decided by who answers it by name, and by nobody else's answer.
func TestAnswer(t *testing.T) {
	t.Parallel()
	const unanswered = "waits for approval: sluice approve web -n shop"
	waits := v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: unanswered}
	says := func(decision v1alpha1.Decision, message, detail string) v1alpha1.GateStatus {
		at := new(metav1.NewTime(made))
		return v1alpha1.GateStatus{
			Decision: decision, Message: message, DecidedAt: at,
			Evidence: []v1alpha1.Evidence{{Kind: EvidenceAnswer, Actor: "ada", Detail: detail, Time: at}},
		}
	}
	cases := map[string]struct {
		reason string
		policy v1alpha1.GatePolicy
		answer v1alpha1.Answer
		want   v1alpha1.GateStatus
	}{
		"Approved": {
			"the evidence names who approved, and what was said", manualPolicy(),
			v1alpha1.Answer{Gate: "uid-gate", Verdict: v1alpha1.VerdictApprove, By: "ada", Message: "looks well"},
			says(v1alpha1.DecisionPassed, "approved by ada: looks well", "looks well"),
		},
		"Rejected": {
			"a person can say no", manualPolicy(),
			v1alpha1.Answer{Gate: "uid-gate", Verdict: v1alpha1.VerdictReject, By: "ada"},
			says(v1alpha1.DecisionRejected, "rejected by ada", ""),
		},
		"OtherGate": {
			"an answer to a gate that was deleted since is none to the one of the same name", manualPolicy(),
			v1alpha1.Answer{Gate: "uid-before", Verdict: v1alpha1.VerdictApprove, By: "ada"},
			waits,
		},
		"OtherType": {
			"only manual gates are answered", soakPolicy(time.Hour),
			v1alpha1.Answer{Gate: "uid-gate", Verdict: v1alpha1.VerdictApprove, By: "ada"},
			v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: "soaks for 1h0m0s, until 2026-10-05T13:00:01Z"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(tc.policy)
			g.UID = "uid-gate"
			release := blockedOn(g)
			release.Status.Answers = []v1alpha1.Answer{tc.answer}
			if diff := cmp.Diff(tc.want, Evaluate(g, Facts{Release: release}, made).Status); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAnswerNeedsAGate: an answer that names no gate approves none, not even a gate without UID.
func TestAnswerNeedsAGate(t *testing.T) {
	t.Parallel()
	g := newGate(manualPolicy())
	g.UID = ""
	release := blockedOn(g)
	release.Status.Answers = []v1alpha1.Answer{{Verdict: v1alpha1.VerdictApprove, By: "ada"}}
	if got := Evaluate(g, Facts{Release: release}, made).Status.Decision; got != v1alpha1.DecisionWaiting {
		t.Errorf("the gate is %s, want it to wait", got)
	}
}

// TestForce: a gate that is forced passes whatever it waits for, and says so, but only while its
// release waits for it.
func TestForce(t *testing.T) {
	t.Parallel()
	at := new(metav1.NewTime(made))
	force := &v1alpha1.Force{By: "ada", Reason: "INC-42"}
	pull := &v1alpha1.PullRequestReference{Number: 7}
	passed := v1alpha1.GateStatus{
		Decision: v1alpha1.DecisionPassed, Message: "forced by ada: INC-42", DecidedAt: at, Force: force, PullRequest: pull,
		Evidence: []v1alpha1.Evidence{{Kind: EvidenceForced, Actor: "ada", Detail: "INC-42", Time: at}},
	}
	policies := map[string]v1alpha1.GatePolicy{
		"soak":        soakPolicy(time.Hour),
		"unreadable":  windowPolicy("61 * * * *", ""),
		"pullRequest": {PullRequest: &v1alpha1.PullRequestGate{MinApprovals: 2}},
		"checkRun":    {CheckRun: &v1alpha1.CheckRunGate{Name: "e2e", App: "github-actions"}},
		"manual":      manualPolicy(),
	}
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(policy)
			g.Status = v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Force: force, PullRequest: pull}
			release := blockedOn(g)
			if diff := cmp.Diff(passed, Evaluate(g, Facts{Release: release}, made).Status); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			release.Status.Attempt++
			if diff := cmp.Diff(g.Status, Evaluate(g, Facts{Release: release}, made).Status); diff != "" {
				t.Errorf("a gate that nobody waits for is left as it is: -want +got:\n%s", diff)
			}
		})
	}
}
