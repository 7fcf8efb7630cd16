package gate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

func TestAMergeThatKeepsEveryRulePasses(t *testing.T) {
	t.Parallel()
	mergedBy := func(who forge.Account) v1alpha1.Evidence {
		return v1alpha1.Evidence{
			Kind: EvidencePullRequestMerged, Actor: who.Login, ActorID: who.ID, ID: 12, SHA: mergeCommit, URL: pullURL,
			Time:   new(metav1.NewTime(mergedAt)),
			Detail: "put .sluice/approvals/shop/web.yaml (blob " + recordBlob + ") onto branch main",
		}
	}
	reviewBy := func(id int64, who forge.Account) v1alpha1.Evidence {
		return v1alpha1.Evidence{
			Kind: EvidenceReview, Actor: who.Login, ActorID: who.ID, ID: id, SHA: headCommit, URL: pullURL + "#pullrequestreview",
			Time: new(metav1.NewTime(made.Add(time.Duration(id) * time.Second))), Detail: "approved pull request #12",
		}
	}
	tests := map[string]struct {
		scene   approving
		message string
		facts   []v1alpha1.Evidence
		// behind are the numbers of the contributors.
		behind []int64
	}{
		"the merge alone": {
			merged(v1alpha1.PullRequestGate{}), "pull request #12 was merged by carol", []v1alpha1.Evidence{mergedBy(carol)}, nil,
		},
		"a merge by one who may": {
			mergeAlone(), "pull request #12 was merged by carol", []v1alpha1.Evidence{mergedBy(carol)}, []int64{2, 10},
		},
		"reviews": {
			reviewed(), "pull request #12 was merged by ada with 2 of 2 approvals",
			[]v1alpha1.Evidence{mergedBy(ada), reviewBy(100, carol), reviewBy(101, dave)}, []int64{2, 10},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Decision{Status: v1alpha1.GateStatus{
				Decision: v1alpha1.DecisionPassed, Message: tc.message, Evidence: tc.facts, Contributors: tc.behind,
				PullRequest: tc.scene.gate.Status.PullRequest, DecidedAt: new(metav1.NewTime(made.Add(time.Hour))),
			}}
			if diff := cmp.Diff(want, tc.scene.evaluate()); diff != "" {
				t.Errorf("the status must be whole, with who, what, when and where (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatKeepsNoRuleFromHolding: facts that may differ between good approvals break no rule.
func TestWhatKeepsNoRuleFromHolding(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene  func() approving
		change func(approving)
	}{
		"a merge commit is the tip": {mergeAlone, func(s approving) { s.source.Status.ObservedCommit = mergeCommit }},
		"a squash or a rebase makes another commit": {mergeAlone, func(s approving) {
			s.pull.MergeCommit = squashed
			s.forge.Approval.Result.Commit = forge.Commit{SHA: squashed, Parents: []string{releaseCommit}}
			s.forge.Approval.Pushes[0].After = squashed
		}},
		"a record that was there for an earlier step is changed": {mergeAlone, func(s approving) {
			s.forge.Approval.Files[0].Status = forge.FileModified
		}},
		"records of other releases are on the branch too": {mergeAlone, func(s approving) {
			s.source.Status.Approvals = append([]v1alpha1.ApprovalRecord{{Namespace: "shop", Release: "api"}}, s.source.Status.Approvals...)
		}},
		"nobody knows who pushed to a proposal whose commits are all signed": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: ada, hidden: true})
			s.forge.Approval.Release.Proposals[0].Commits = []forge.Commit{
				{SHA: olderHead, Verified: true, Committer: ada},
				{SHA: headCommit, Parents: []string{olderHead, stableCommit}, Author: bob, Verified: true, Committer: webflow},
			}
		}},
		"a program pushed, and the policy trusts it": {mergeAlone, func(s approving) {
			s.trust(renovate)
			s.broughtBy(brought{author: renovate, pusher: renovate})
		}},
		"a pull request of a program that the policy trusts": {mergeAlone, func(s approving) {
			s.trust(renovate)
			s.broughtBy(brought{author: renovate, merged: true, proposal: renovate})
			s.forge.Approval.Release.Proposals[0].Pushers = []forge.Account{renovate, ada}
		}},
		"a pull request of our own": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: sluice, merged: true, proposal: sluice})
			s.forge.Approval.Release.Proposals[0].Pushers = []forge.Account{sluice}
		}},
		"a program pushed what the key of a person has signed": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, committer: ada, signed: true, pusher: renovate})
		}},
		"a program pushed to a proposal what the key of a person has signed": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, merged: true, proposal: renovate})
			s.forge.Approval.Release.Proposals[0].Pushers = []forge.Account{renovate}
			s.forge.Approval.Release.Proposals[0].Commits = []forge.Commit{{SHA: olderHead, Verified: true, Committer: ada}}
		}},
		"an approver has updated the branch": {reviewed, func(s approving) { s.updatedBy(dave) }},
		"somebody has updated the branch since the reviews": {reviewed, func(s approving) {
			s.updatedBy(mallory)
			for i := range s.forge.Approval.Reviews {
				s.forge.Approval.Reviews[i].CommitID = olderHead
			}
		}},
		"a source that names no branch follows main":      {mergeAlone, func(s approving) { s.source.Spec.Ref.Branch = "" }},
		"it was closed and opened again before the merge": {mergeAlone, func(s approving) { s.gate.Status.Decision = v1alpha1.DecisionRejected }},
		"somebody of the team merges":                     {mergeAlone, func(s approving) { s.pull.MergedBy = dave }},
		"an account that has another login now": {mergeAlone, func(s approving) {
			s.pull.MergedBy = forge.Account{ID: carol.ID, Login: "caroline"}
		}},
		"who is behind the release is known by its pull request alone": {mergeAlone, func(s approving) {
			s.broughtBy(brought{merged: true, proposal: ada})
		}},
		"who pushed is known, and the commit names nobody": {mergeAlone, func(s approving) { s.broughtBy(brought{pusher: ada}) }},
		"the key of an account has signed it":              {mergeAlone, func(s approving) { s.broughtBy(brought{committer: ada, signed: true}) }},
		"the forge has signed what it merged": {mergeAlone, func(s approving) {
			s.broughtBy(brought{committer: webflow, signed: true, proposal: ada})
		}},
		"who merged the change has looked at it": {mergeAlone, func(s approving) {
			s.broughtBy(brought{author: ada, committer: carol, merged: true, proposal: ada})
		}},
		"a forge that does not tell who pushes, and a merge of its own": {mergeAlone, func(s approving) {
			s.broughtBy(brought{committer: ada, signed: true})
			s.forge.Approval.Pushes, s.forge.Approval.PushesTold = nil, false
		}},
		"an approval of an earlier step lies between": {mergeAlone, func(s approving) {
			a := s.forge.Approval
			earlier := forge.Commit{SHA: olderHead, Author: carol, Parents: []string{stableCommit}}
			a.Release.Commits[0].Parents = []string{olderHead}
			a.Release.Commits, a.Release.Total = append([]forge.Commit{earlier}, a.Release.Commits...), 2
			a.Release.Changes = append(a.Release.Changes, forge.Change{SHA: olderHead, Result: forge.Result{
				Commit: earlier, Files: []forge.ChangedFile{{Path: ".sluice/approvals/shop/api.yaml"}},
			}})
			a.Pushes[1].Before = olderHead
		}},
		"the push of its head alone, as a merge queue does": {mergeAlone, func(s approving) {
			s.pull.MergeCommit = headCommit
			s.forge.Approval.Result.Commit = forge.Commit{SHA: headCommit, Parents: []string{releaseCommit}}
			s.forge.Approval.Pushes[0] = forge.Push{Before: releaseCommit, After: headCommit, Kind: forge.PushPlain, Actor: carol}
		}},
		"a program that is named": {mergeAlone, func(s approving) {
			s.list(renovate)
			s.pull.MergedBy = renovate
		}},
		"a name with its number": {mergeAlone, func(s approving) {
			s.policy.Approvers[0] = "carol#12"
			s.kept("carol", 99)
		}},
		"a name that means whom it meant": {mergeAlone, func(s approving) { s.kept("carol", carol.ID) }},
		"nobody need be known where everybody may": {mergeAlone, func(s approving) {
			s.policy.ForbidSelfApproval, s.forge.Approval.Release = false, forge.ReleaseOrigin{}
		}},
		"those behind the release may approve where that is not forbidden": {reviewed, func(s approving) {
			s.policy.ForbidSelfApproval = false
			s.broughtBy(brought{author: carol, committer: dave, pusher: carol})
		}},
		"anybody else's review changes nothing": {reviewed, func(s approving) {
			s.also(says(200, mallory, forge.ReviewChangesRequested), says(201, forge.Account{}, forge.ReviewChangesRequested))
		}},
		"a comment takes no approval back": {reviewed, func(s approving) {
			s.also(says(200, carol, forge.ReviewCommented), says(201, carol, forge.ReviewPending))
		}},
		"an approval comes after a request for changes": {reviewed, func(s approving) {
			s.forge.Approval.Reviews = append([]forge.Review{says(90, carol, forge.ReviewChangesRequested)}, s.forge.Approval.Reviews...)
		}},
		"the ids say which review is the latest": {reviewed, func(s approving) { s.also(says(90, carol, forge.ReviewDismissed)) }},
		"more approvals than are needed":         {reviewed, func(s approving) { s.policy.MinApprovals = 1 }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene := tc.scene()
			tc.change(scene)
			if got := scene.evaluate().Status; got.Decision != v1alpha1.DecisionPassed {
				t.Errorf("it must pass, got %s: %s", got.Decision, got.Message)
			}
		})
	}
}
