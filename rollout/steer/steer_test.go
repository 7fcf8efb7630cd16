package steer

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// release returns one of three steps, with a status.
func release(status v1alpha1.BatchReleaseStatus) *v1alpha1.BatchRelease {
	return &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{Steps: make([]v1alpha1.Step, 3)}},
		Status:     status,
	}
}

func rolling() v1alpha1.BatchReleaseStatus {
	return v1alpha1.BatchReleaseStatus{
		Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateRolling, StepStartedAt: &metav1.Time{}, Batch: "2/3", CurrentStepIndex: 1, Message: "batch 2/3 updates", StableRevision: "v1", UpdateRevision: "v2",
	}
}

func gate(uid types.UID, policy v1alpha1.GatePolicy, status v1alpha1.GateStatus) v1alpha1.Gate {
	return v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Name: "web-" + string(uid), UID: uid},
		Spec:       v1alpha1.GateSpec{Type: policy.Type(), Policy: policy}, Status: status,
	}
}

var (
	manual   = v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}
	soak     = v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{}}
	waiting  = v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: "waits"}
	passed   = v1alpha1.GateStatus{Decision: v1alpha1.DecisionPassed}
	reviewed = v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{MinApprovals: 2, Approvers: []string{"grace"}, Teams: []string{"sre"}}}
	ada      = Words{By: "ada", Text: "well"}
)

// TestApprove: the manual gates that wait are answered, each by its UID, beside what was said
// before.
func TestApprove(t *testing.T) {
	t.Parallel()
	before := v1alpha1.Answer{Gate: "b", Verdict: v1alpha1.VerdictApprove, By: "grace"}
	own := v1alpha1.Answer{Gate: "b", Verdict: v1alpha1.VerdictReject, By: "ada"}
	said := func(uid types.UID) v1alpha1.Answer {
		return v1alpha1.Answer{Gate: uid, Verdict: v1alpha1.VerdictApprove, By: "ada", Message: "well"}
	}
	first, second := gate("a", manual, waiting), gate("b", manual, waiting)
	gates := []v1alpha1.Gate{first, second, gate("c", soak, waiting), gate("d", manual, passed)}
	only := ada
	only.Only = "web-a"
	cases := map[string]struct {
		words   Words
		answers []v1alpha1.Answer
		want    []v1alpha1.Answer
	}{
		"All":       {ada, nil, []v1alpha1.Answer{said("a"), said("b")}},
		"One":       {only, []v1alpha1.Answer{before}, []v1alpha1.Answer{before, said("a")}},
		"LastWords": {ada, []v1alpha1.Answer{own}, []v1alpha1.Answer{said("a"), said("b")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := rolling()
			status.Answers = tc.answers
			changes, err := Approve(release(status), gates, tc.words)
			if err != nil || len(changes) != 1 || !changes[0].Status {
				t.Fatalf("want one change of the status, got %+v, %v", changes, err)
			}
			if diff := cmp.Diff(to(tc.want, "status", "answers"), changes[0].Patch); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestApprovePausePoint: a release that holds before a pod goes on past that pod.
func TestApprovePausePoint(t *testing.T) {
	t.Parallel()
	status := rolling()
	status.State, status.PausePoint = v1alpha1.StatePausePoint, &v1alpha1.PausePoint{Pod: "web-x"}
	changes, err := Approve(release(status), nil, ada)
	if err != nil || len(changes) != 1 {
		t.Fatalf("want one change, got %+v, %v", changes, err)
	}
	if diff := cmp.Diff(to("web-x", "status", "pausePoint", "confirmed"), changes[0].Patch); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

// TestForce: every gate that is open is forced, whatever its type, and no other.
func TestForce(t *testing.T) {
	t.Parallel()
	closed := v1alpha1.GateStatus{Decision: v1alpha1.DecisionRejected}
	gates := []v1alpha1.Gate{
		gate("a", manual, passed), gate("b", soak, waiting), gate("c", reviewed, waiting),
		gate("d", reviewed, closed), gate("e", manual, closed),
	}
	changes, err := Force(release(rolling()), gates, ada)
	if err != nil || len(changes) != 3 || changes[0].Gate.UID != "b" || changes[1].Gate.UID != "c" || changes[2].Gate.UID != "d" {
		t.Fatalf("want gates b, c and the closed pull request d forced, got %+v, %v", changes, err)
	}
	if diff := cmp.Diff(to(v1alpha1.Force{By: "ada", Reason: "well"}, "status", "force"), changes[0].Patch); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

// history has a template of each outcome, and two of commits that begin alike.
var history = []plan.Kept{
	{Number: 1, Revision: "v1", Record: plan.Record{Outcome: v1alpha1.OutcomeAdopted}},
	{Number: 2, Revision: "v2", Record: plan.Record{Outcome: v1alpha1.OutcomeReleased, Commit: "abcdef0123"}},
	{Number: 3, Revision: "v3", Record: plan.Record{Outcome: v1alpha1.OutcomeRolledBackTo, Commit: "abcdef0987"}},
	{Number: 4, Revision: "v4", Record: plan.Record{Outcome: v1alpha1.OutcomeRolledBack, Commit: "4444444444"}},
}

// TestRollBack: the target is named by its revision, its commit, its number, or not at all.
func TestRollBack(t *testing.T) {
	t.Parallel()
	web := release(rolling())
	cases := map[string]struct {
		ask  func() (Change, error)
		want string
	}{
		"Before":   {func() (Change, error) { return RollBack(web, history, "") }, "true"},
		"Revision": {func() (Change, error) { return RollBack(web, history, "v1") }, "v1"},
		"Commit":   {func() (Change, error) { return RollBack(web, history, "ABCDEF09") }, "v3"},
		"Number":   {func() (Change, error) { return Undo(web, history, 2) }, "v2"},
		"NoNumber": {func() (Change, error) { return Undo(web, history, 0) }, "true"},
	}
	for name, tc := range cases {
		change, err := tc.ask()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(to(tc.want, "metadata", "annotations", "rollback"), change.Patch); diff != "" {
			t.Errorf("%s: patch (-want +got):\n%s", name, diff)
		}
	}
}

// TestJumpSaysWhatIsInTheWay: a refused jump names the steps that have to come first.
func TestJumpSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	held := func(by v1alpha1.StopCause, steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
		status := rolling()
		status.CurrentStepIndex, status.Batch = 0, "1/3"
		if by != "" {
			status.State, status.StoppedBy = v1alpha1.StateStopped, []v1alpha1.StopCause{by}
		}
		r := release(status)
		copy(r.Spec.Strategy.Steps, steps)
		return r
	}
	gated := v1alpha1.Step{Gates: []v1alpha1.GatePolicy{soak}}
	refused := held("")
	refused.Status.RefusedWrite = &v1alpha1.RefusedWrite{Write: "create the ReplicaSet of revision v2"}
	cases := map[string]struct {
		release *v1alpha1.BatchRelease
		want    string
	}{
		"nothing":             {held(""), "goes from batch 1/3 to batch 3/3"},
		"gates":               {held("", gated, gated), "goes from batch 1/3 to batch 3/3, once the soak gate of batch 1 passes and the soak gate of batch 2 passes"},
		"a freeze":            {held(v1alpha1.StopFrozen), "goes from batch 1/3 to batch 3/3, once the freeze ends"},
		"a change to be seen": {held(v1alpha1.StopWorkloadChanged), "goes from batch 1/3 to batch 3/3, once 'sluice retry' lets the release go on"},
		"a refused write":     {refused, "goes from batch 1/3 to batch 3/3, once the API server takes the write that it refuses: create the ReplicaSet of revision v2"},
	}
	for name, tc := range cases {
		change, err := Jump(tc.release, 3)
		if err != nil || change.Done != tc.want {
			t.Errorf("%s: want %q, got %q, %v", name, tc.want, change.Done, err)
		}
	}
}

// TestRetryOfARefusedWrite: it need not wait until the write is sent again by itself.
func TestRetryOfARefusedWrite(t *testing.T) {
	t.Parallel()
	status := rolling()
	status.RefusedWrite = &v1alpha1.RefusedWrite{Write: "create the ReplicaSet of revision v2"}
	change, err := Retry(release(status))
	if err != nil {
		t.Fatalf("want the write sent again, got %v", err)
	}
	if diff := cmp.Diff(annotate(v1alpha1.RetryAnnotation, "true", "tried again"), change); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
}

// TestRefusals: a request without effect is refused, with a remedy.
func TestRefusals(t *testing.T) {
	t.Parallel()
	completed := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted, UpdateRevision: "v2", Message: "all pods run revision v2"}
	failed := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingBack, Rollback: &v1alpha1.RollbackRecord{From: "v2"}, UpdateRevision: "v1"}
	final := gate("a", manual, v1alpha1.GateStatus{Decision: v1alpha1.DecisionRejected, Message: "rejected by grace"})
	pull := gate("p", reviewed, v1alpha1.GateStatus{
		Message: "waits for pull request #7", PullRequest: &v1alpha1.PullRequestReference{Number: 7, URL: "https://forge.example/7"},
	})
	answeredByGrace := rolling()
	answeredByGrace.Answers = []v1alpha1.Answer{{Gate: "b", Verdict: v1alpha1.VerdictReject, By: "grace"}}
	past := rolling()
	past.State, past.PausePoint = v1alpha1.StatePausePoint, &v1alpha1.PausePoint{Pod: "web-x", Confirmed: "web-x"}
	suspended := release(rolling())
	suspended.Spec.Suspend = true
	another := ada
	another.Only = "checkRun"
	second := func(_ any, err error) error { return err }
	cases := map[string]struct {
		err  error
		want string
	}{
		"nothing waits":       {second(Approve(release(rolling()), nil, ada)), "there is nothing to approve: batch 2/3 updates"},
		"confirmed already":   {second(Approve(release(past), nil, ada)), "there is nothing to approve: batch 2/3 updates"},
		"a pull request":      {second(Approve(release(rolling()), []v1alpha1.Gate{pull}, ada)), "waits for pull request #7: https://forge.example/7 (needs 2 approvals of grace, sre)"},
		"rejected":            {second(Reject(release(rolling()), []v1alpha1.Gate{final}, ada)), "gate web-a is final: rejected by grace"},
		"answered by another": {second(Approve(release(answeredByGrace), []v1alpha1.Gate{gate("b", manual, waiting)}, ada)), "grace has answered gate web-b already (Reject)"},
		"another gate":        {second(Force(release(rolling()), []v1alpha1.Gate{pull}, another)), `no gate "checkRun" is open; the release waits for web-p (pullRequest)`},
		"two commits":         {second(RollBack(release(rolling()), history, "abcdef0")), "more than one commit starts like that"},
		"rolled back":         {second(RollBack(release(rolling()), history, "v4")), "was rolled back itself"},
		"not kept":            {second(Undo(release(rolling()), history, 9)), "revision 9 is not in the history; choose one of 3: v3 (commit abcdef0), 2: v2 (commit abcdef0), 1: v1"},
		"runs":                {second(Undo(release(completed), history, 2)), "already runs"},
		"nothing before":      {second(RollBack(release(completed), history, "")), "there is no earlier template"},
		"goes back":           {second(RollBack(release(failed), history, "")), "it is rolling back to v1 already; a revision"},
		"goes back there":     {second(Undo(release(failed), history, 1)), "it is rolling back to v1 already"},
		"paused":              {second(Suspend(suspended, true, "")), "it is paused already"},
		"paused by Git":       {second(Suspend(suspended, false, "web.yaml")), "Git suspends it: take suspend: true out of web.yaml"},
		"not paused":          {second(Suspend(release(rolling()), false, "")), "it is not paused"},
		"not failed":          {second(Retry(release(rolling()))), "there is nothing to try again: batch 2/3 updates"},
		"no release":          {second(Jump(release(completed), 1)), "no release is in progress: all pods run revision v2"},
		"no such step":        {second(Jump(release(rolling()), 4)), "there are batches 1 to 3"},
		"the present step":    {second(Jump(release(rolling()), 2)), "batch 2 is the present one"},
		"jump in a rollback":  {second(Jump(release(failed), 1)), "a rollback has its own steps"},
	}
	for name, tc := range cases {
		if !errors.As(tc.err, new(*RefusedError)) || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: want it refused with %q, got %v", name, tc.want, tc.err)
		}
	}
}
