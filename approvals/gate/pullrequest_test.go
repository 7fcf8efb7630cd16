package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

func TestAPullRequestThatIsNotMerged(t *testing.T) {
	t.Parallel()
	closedAt := made.Add(5 * time.Minute)
	closing := v1alpha1.Evidence{
		Kind: EvidencePullRequestClosed, Actor: "carol", ActorID: carol.ID, ID: 12, SHA: headCommit, URL: pullURL, Time: new(metav1.NewTime(closedAt)),
	}
	open := func(s *approving) {
		s.pull.Merged, s.pull.MergedAt, s.pull.MergedBy, s.pull.MergeCommit = false, time.Time{}, forge.Account{}, ""
		s.pull.State = forge.PullOpen
	}
	closed := func(s *approving) {
		open(s)
		s.pull.State, s.pull.ClosedAt, s.pull.ClosedBy = forge.PullClosed, closedAt, carol
	}
	closedBy := func(who forge.Account) func(*approving) {
		return func(s *approving) {
			closed(s)
			s.pull.ClosedBy = who
		}
	}
	inVain := func(by string) v1alpha1.GateStatus {
		why := "closed by " + by + ", which rejects nothing: reopen it, or 'kubectl delete gate web-7f9c-3-1-0 -n shop' asks again"
		return v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: "pull request #12 was " + why, Refusal: &v1alpha1.Refusal{Message: why},
		}
	}
	rejectedBefore := new(metav1.NewTime(made.Add(6 * time.Minute)))
	tests := map[string]struct {
		change func(*approving)
		want   v1alpha1.GateStatus
	}{
		"it is open": {open, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: "waits for pull request #12 to be merged: " + pullURL,
		}},
		"it is open, and no merge of it can pass": {func(s *approving) {
			open(s)
			s.gate.Spec.StableCommit = ""
		}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting,
			Message: "pull request #12 can't pass it, merged or not: the commit that ran before is unknown, so nobody can tell who contributed since: " +
				"'sluice approve web -n shop --force --reason=...' overrides the gate's policy",
		}},
		"it is closed": {closed, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionRejected, Message: "pull request #12 was closed by carol without being merged: reopen it to continue",
			Evidence: []v1alpha1.Evidence{closing}, DecidedAt: new(metav1.NewTime(made.Add(time.Hour))),
		}},
		"it is still closed": {func(s *approving) {
			closed(s)
			s.gate.Status.Decision, s.gate.Status.DecidedAt = v1alpha1.DecisionRejected, rejectedBefore
		}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionRejected, Message: "pull request #12 was closed by carol without being merged: reopen it to continue",
			Evidence: []v1alpha1.Evidence{closing}, DecidedAt: rejectedBefore,
		}},
		"it was closed by one who may no longer write": {func(s *approving) {
			closed(s)
			s.forge.Approval.Permissions = nil
			s.gate.Status.Decision, s.gate.Status.DecidedAt = v1alpha1.DecisionRejected, rejectedBefore
			s.gate.Status.Evidence, s.gate.Status.Message = []v1alpha1.Evidence{closing}, "the forge can't be asked: 502"
		}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionRejected, Message: "pull request #12 was closed by carol without being merged: reopen it to continue",
			Evidence: []v1alpha1.Evidence{closing}, DecidedAt: rejectedBefore,
		}},
		"it was closed again, by another": {func(s *approving) {
			closedBy(mallory)(s)
			before := closing
			before.Time = new(metav1.NewTime(made))
			s.gate.Status.Decision, s.gate.Status.DecidedAt = v1alpha1.DecisionRejected, rejectedBefore
			s.gate.Status.Evidence = []v1alpha1.Evidence{before}
		}, inVain("mallory, who is not one of the approvers")},
		"it was closed by one who is no approver": {closedBy(mallory), inVain("mallory, who is not one of the approvers")},
		"it was closed by one who contributed": {func(s *approving) {
			closed(s)
			s.broughtBy(brought{author: carol, pusher: carol})
		}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionRejected, Message: "pull request #12 was closed by carol without being merged: reopen it to continue",
			Evidence: []v1alpha1.Evidence{closing}, DecidedAt: new(metav1.NewTime(made.Add(time.Hour))),
		}},
		"it was closed by one who may not write": {func(s *approving) {
			closedBy(mallory)(s)
			s.policy.Approvers, s.policy.Teams = nil, nil
			s.forge.Approval.Permissions = []forge.Permission{{Account: mallory}}
		}, inVain("mallory, who has no write access to the repository")},
		"it was closed by a program": {func(s *approving) {
			closedBy(renovate)(s)
			s.policy.Approvers, s.policy.Teams = nil, nil
		}, inVain("renovate[bot], who is not a person, and not named in approvers")},
		"it was closed by our own account": {closedBy(sluice), inVain("Sluice's own account sluice[bot]")},
		"nobody knows who closed it":       {closedBy(forge.Account{}), inVain("somebody the forge does not name")},
		"it is open again": {func(s *approving) {
			open(s)
			s.gate.Status.Decision, s.gate.Status.DecidedAt = v1alpha1.DecisionRejected, rejectedBefore
			s.gate.Status.Evidence = []v1alpha1.Evidence{closing}
		}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: "waits for pull request #12 to be merged: " + pullURL,
		}},
		"it is another": {func(s *approving) { s.pull.Number = 13 }, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: "waits for its pull request to be opened",
		}},
		"there is none": {func(s *approving) { s.forge.Approval = nil }, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting, Message: "waits for its pull request to be opened",
		}},
		"it is another's, as the source has another repository": {func(s *approving) {
			closed(s)
			s.pull.Head.Ref = "feature"
		}, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting,
			Message:  "can't pass: pull request #12 of octo/shop is another's, of branch feature: 'kubectl delete gate web-7f9c-3-1-0 -n shop' asks again",
		}},
		"it was opened from another source": {func(s *approving) { s.source.Name = "fork" }, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting,
			Message: "can't pass: pull request #12 is on the forge of ReleaseSource shop/main, but the release comes from shop/fork now: " +
				"'kubectl delete gate web-7f9c-3-1-0 -n shop' asks again",
		}},
		"the forge could not be asked": {func(s *approving) { s.forge = nil }, v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting}},
		"the release has no source": {func(s *approving) { s.source = nil }, v1alpha1.GateStatus{
			Decision: v1alpha1.DecisionWaiting,
			Message:  "can't pass: the release comes from no ReleaseSource, on whose branch it could be approved",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene := mergeAlone()
			tc.change(&scene)
			facts := scene.facts()
			tc.want.PullRequest = scene.gate.Status.PullRequest
			got := Evaluate(scene.gate, facts, made.Add(time.Hour))
			if diff := cmp.Diff(Decision{Status: tc.want}, got); diff != "" {
				t.Errorf("Evaluate(...): -want +got:\n%s", diff)
			}
			scene.gate.Status = got.Status
			again := Evaluate(scene.gate, facts, made.Add(2*time.Hour))
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("a later look at the same must say the same: -first +later:\n%s", diff)
			}
		})
	}
}
