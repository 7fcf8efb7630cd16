package gate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
)

// checkPullRequest passes when the gate's record was put onto the tracked branch by the merge of
// the gate's pull request, as the policy asks for; where the source has no forge, by whatever put
// it there.
func checkPullRequest(g *v1alpha1.Gate, facts Facts, now time.Time) Decision {
	switch source := facts.Source; {
	case source == nil:
		return waiting("can't pass: the release comes from no ReleaseSource, on whose branch it could be approved", time.Time{})
	case source.Spec.Forge == nil:
		return checkRecord(g, source, now)
	case facts.Forge == nil:
		return unchanged(g)
	case facts.Forge.Approval == nil:
		return waiting("waits for its pull request to be opened", time.Time{})
	default:
		return judgeApproval(approvalOf(g, facts), now)
	}
}

// approvalOf collects what an approval is judged by.
func approvalOf(g *v1alpha1.Gate, facts Facts) approval {
	a := approval{
		Approval: facts.Forge.Approval, self: facts.Forge.Self, gate: g, policy: g.Spec.Policy.PullRequest, source: facts.Source,
	}
	judged := *facts.Forge.Approval
	var approvers, teams string
	judged.Approvers, approvers = sameAsBefore(facts.Source, a.policy.Approvers, judged.Approvers)
	judged.Teams, teams = sameTeams(facts.Source, a.policy.Teams, judged.Teams)
	a.changed = joined(approvers, teams)
	judged.Trusted, a.untrusted = sameAsBefore(facts.Source, a.policy.TrustedPushers, judged.Trusted)
	a.Approval = &judged
	if a.policy.ForbidSelfApproval {
		a.behind = a.behindRelease()
	}
	return a
}

// Candidates returns those who have answered the pull request of g and about whom to ask the forge
// what they may do with the repository: their answers count if they may write.
func Candidates(g *v1alpha1.Gate, facts Facts) []forge.Account {
	if facts.Source == nil || facts.Forge == nil || facts.Forge.Approval == nil || g.Spec.Policy.PullRequest == nil {
		return nil
	}
	a := approvalOf(g, facts)
	switch {
	case a.anothers() != "":
		return nil
	case a.PullRequest.Rejected() && a.PullRequest.ClosedBy.Type == forge.TypeUser:
		return []forge.Account{a.PullRequest.ClosedBy}
	case a.PullRequest.Merged:
		return a.candidates()
	}
	return nil
}

// approval holds a pull request's facts from the forge, and the gate that it is judged for.
type approval struct {
	*forge.Approval
	// self is the account that we act as.
	self   forge.Account
	gate   *v1alpha1.Gate
	policy *v1alpha1.PullRequestGate
	source *v1alpha1.ReleaseSource
	// changed says which names of approvers and teams mean somebody else than they did, and untrusted
	// which of trusted pushers.
	changed, untrusted string
	// behind are those who must not approve; set if the policy forbids it.
	behind behind
}

func judgeApproval(a approval, now time.Time) Decision {
	pull := a.PullRequest
	if problem := a.anothers(); problem != "" {
		return waiting(problem, time.Time{})
	}
	switch {
	case pull.Rejected():
		return a.rejection(now)
	case !pull.Merged && a.policy.ForbidSelfApproval && a.untraceable() != "":
		return waiting(fmt.Sprintf("pull request #%d can't pass it, merged or not: %s", pull.Number, a.untraceable()), time.Time{})
	case !pull.Merged:
		return waiting(fmt.Sprintf("waits for pull request #%d to be merged: %s", pull.Number, pull.URL), time.Time{})
	}
	for _, rule := range mergeRules {
		problem := rule.check(a)
		message := fmt.Sprintf("pull request #%d was merged, but %s", pull.Number, problem)
		switch {
		case problem == "":
		case rule.passing:
			return waiting(message, time.Time{})
		default:
			return refused(message, problem)
		}
	}
	decision := decided(v1alpha1.DecisionPassed, a.praise(), now, a.evidence()...)
	decision.Status.Contributors = a.behind.numbers()
	return decision
}

// rejection rejects the gate if it was closed by somebody who may approve it, other than by the
// rules on who contributed. A rejection stays one until the pull request is reopened, also when
// that person loses the right.
func (a approval) rejection(now time.Time) Decision {
	pull := a.PullRequest
	closing := a.closing()
	problem := a.mayNotReject(pull.ClosedBy)
	if problem != "" && !a.rejectedBy(closing) {
		why := fmt.Sprintf("%s, which rejects nothing: reopen it, or %s", problem, a.askAnew())
		return refused(fmt.Sprintf("pull request #%d was closed %s", pull.Number, why), "closed "+why)
	}
	message := fmt.Sprintf("pull request #%d was closed by %s without being merged: reopen it to continue", pull.Number, name(pull.ClosedBy))
	return decided(v1alpha1.DecisionRejected, message, now, closing)
}

// rejectedBy reports whether the gate was rejected by the same closing before.
func (a approval) rejectedBy(closing v1alpha1.Evidence) bool {
	return a.gate.Status.Decision == v1alpha1.DecisionRejected && slices.ContainsFunc(a.gate.Status.Evidence, func(e v1alpha1.Evidence) bool {
		return e.Kind == closing.Kind && e.Time.Equal(closing.Time)
	})
}

// mayNotReject says why somebody may not reject the gate; empty if they may.
func (a approval) mayNotReject(who forge.Account) string {
	switch {
	case !who.Known():
		return "by somebody the forge does not name"
	case who.Same(a.self):
		return "by Sluice's own account " + name(who)
	}
	if problem := cmp.Or(a.unlisted(who), a.writes(who)); problem != "" {
		return fmt.Sprintf("by %s, who %s", name(who), problem)
	}
	return ""
}

// anothers says why the pull request is not the one that was opened for this gate; empty if it is.
func (a approval) anothers() string {
	opened := a.gate.Status.PullRequest
	from := v1alpha1.SourceReference{Namespace: a.source.Namespace, Name: a.source.Name}
	switch {
	case opened == nil || opened.Number == 0 || opened.Number != int64(a.PullRequest.Number):
		return "waits for its pull request to be opened"
	case opened.Source != from:
		return fmt.Sprintf("can't pass: pull request #%d is on the forge of ReleaseSource %s/%s, but the release comes from %s/%s now: %s",
			opened.Number, opened.Source.Namespace, opened.Source.Name, from.Namespace, from.Name, a.askAnew())
	case a.PullRequest.Head.Ref != record.Branch(a.gate):
		return fmt.Sprintf("can't pass: pull request #%d of %s is another's, of branch %s: %s",
			opened.Number, a.Repository.FullName, a.PullRequest.Head.Ref, a.askAnew())
	default:
		return ""
	}
}

// praise says what the gate was passed by.
func (a approval) praise() string {
	text := fmt.Sprintf("pull request #%d was merged by %s", a.PullRequest.Number, a.PullRequest.MergedBy.Login)
	if approvals := len(a.approving()); a.policy.MinApprovals > 0 {
		text += fmt.Sprintf(" with %d of %d approvals", approvals, a.policy.MinApprovals)
	}
	return text
}

// closing returns the evidence of a rejection.
func (a approval) closing() v1alpha1.Evidence {
	pull := a.PullRequest
	return v1alpha1.Evidence{
		Kind: EvidencePullRequestClosed, Actor: pull.ClosedBy.Login, ActorID: pull.ClosedBy.ID,
		ID: int64(pull.Number), SHA: pull.Head.SHA, URL: forge.Link(pull.URL), Time: timeOf(pull.ClosedAt),
	}
}

// evidence returns everything that a pass is based on: the merge, and the reviews if the policy
// asks for any.
func (a approval) evidence() []v1alpha1.Evidence {
	pull := a.PullRequest
	facts := []v1alpha1.Evidence{{
		Kind: EvidencePullRequestMerged, Actor: pull.MergedBy.Login, ActorID: pull.MergedBy.ID,
		ID: int64(pull.Number), SHA: pull.MergeCommit, URL: forge.Link(pull.URL), Time: timeOf(pull.MergedAt),
		Detail: fmt.Sprintf("put %s (blob %s) onto branch %s", a.Files[0].Path, a.Files[0].BlobSHA, a.branch()),
	}}
	if a.policy.MinApprovals == 0 {
		return facts
	}
	for _, review := range a.approving() {
		facts = append(facts, v1alpha1.Evidence{
			Kind: EvidenceReview, Actor: review.Reviewer.Login, ActorID: review.Reviewer.ID,
			ID: review.ID, SHA: review.CommitID, URL: forge.Link(review.URL), Time: timeOf(review.SubmittedAt),
			Detail: fmt.Sprintf("approved pull request #%d", pull.Number),
		})
	}
	return facts
}

func (a approval) branch() string { return a.source.Branch() }

// checkRecord passes when the record is on the branch, whoever put it there. It is the rule of
// sources without a forge: the server that has the branch says who may write to it.
func checkRecord(g *v1alpha1.Gate, source *v1alpha1.ReleaseSource, now time.Time) Decision {
	wanted := v1alpha1.RecordFile{
		Path:    record.Path(g.Namespace, g.Spec.ReleaseRef.Name),
		Content: string(record.Format(record.Of(g))),
	}
	found := recordOf(g, source)
	problem := missing(found, g)
	if problem == "" && source.Status.ObservedCommit == g.Spec.Commit {
		problem = "the one there came with the release itself"
	}
	if problem != "" {
		decision := waiting(fmt.Sprintf("waits for %s on branch %s, as in status.record: %s. "+
			"ReleaseSource %s/%s has no forge: nobody checks who puts it there",
			wanted.Path, source.Branch(), problem, source.Namespace, source.Name), time.Time{})
		decision.Status.Record = &wanted
		return decision
	}
	decision := passed(fmt.Sprintf("%s is on branch %s; no rule about reviewers could be checked: ReleaseSource %s/%s has no forge",
		wanted.Path, source.Branch(), source.Namespace, source.Name), v1alpha1.Evidence{
		Kind: EvidenceRecordMerged, SHA: source.Status.ObservedCommit,
		Detail: fmt.Sprintf("%s (blob %s) is on branch %s", wanted.Path, found.Blob, source.Branch()),
		Time:   source.Status.LastSyncTime.DeepCopy(),
	}, now)
	decision.Status.Record = &wanted
	return decision
}

// recordOf returns the record of g on the tracked branch, or else the one of its release; nil if
// the branch has neither.
func recordOf(g *v1alpha1.Gate, source *v1alpha1.ReleaseSource) *v1alpha1.ApprovalRecord {
	var release *v1alpha1.ApprovalRecord
	want := record.Of(g)
	for i := range source.Status.Approvals {
		switch have := &source.Status.Approvals[i]; {
		case record.Difference(*have, want) == "":
			return have
		case have.Namespace == want.Namespace && have.Release == want.Release:
			release = have
		}
	}
	return release
}

// missing says why found is not the record of g; empty if it is.
func missing(found *v1alpha1.ApprovalRecord, g *v1alpha1.Gate) string {
	if found == nil {
		return "there is none yet"
	}
	if different := record.Difference(*found, record.Of(g)); different != "" {
		return "of the one there, " + different
	}
	return ""
}

// RecordOnBranch reports whether Git shows the record of g on the tracked branch.
func RecordOnBranch(g *v1alpha1.Gate, source *v1alpha1.ReleaseSource) bool {
	return source != nil && missing(recordOf(g, source), g) == ""
}

// Query says what to ask the forge about the pull request of g.
func Query(g *v1alpha1.Gate, facts Facts) forge.ApprovalQuery {
	query := forge.ApprovalQuery{}
	if opened := g.Status.PullRequest; opened != nil {
		query.Number, query.Written = int(opened.Number), opened.Head
	}
	if facts.Source != nil {
		query.Tip, query.Branch = facts.Source.Status.ObservedCommit, facts.Source.Branch()
	}
	policy := g.Spec.Policy.PullRequest
	if policy == nil {
		return query
	}
	query.Reviews = policy.MinApprovals > 0
	query.Commits = query.Reviews || policy.ForbidSelfApproval
	query.Approvers, query.Teams = slices.Clone(policy.Approvers), slices.Clone(policy.Teams)
	if policy.ForbidSelfApproval {
		query.ReleaseCommit, query.StableCommit = g.Spec.Commit, g.Spec.StableCommit
		query.Trusted = slices.Clone(policy.TrustedPushers)
	}
	return query
}
