package gate

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/approvals/forge"
	"github.com/sluice-dev/sluice/approvals/record"
)

// askAnew is what helps where nothing else does: the pull request can't be merged a second time.
const askAnew = "delete this Gate to ask anew"

// A rule looks at one side of a merge. It says why the merge does not pass the gate; empty if it may.
type rule func(approval) string

// mergeRules must all hold. Those on what is final come before those on what may still come.
var mergeRules = []rule{
	approval.intoTrackedBranch,
	approval.openedByUs,
	approval.mergedByAnother,
	approval.recordAlone,
	approval.recordRead,
	approval.recordAsMerged,
	approval.stillTracked,
	approval.notTheRelease,
	approval.selfKnown,
	approval.mergerMay,
	approval.enoughApprovals,
}

func (a approval) intoTrackedBranch() string {
	base := a.PullRequest.Base
	switch {
	case base.RepositoryID == 0 || base.RepositoryID != a.Repository.ID:
		return "not into the repository of the ReleaseSource: " + askAnew
	case base.Ref != a.branch():
		return fmt.Sprintf("into %s, not into %s: %s", base.Ref, a.branch(), askAnew)
	}
	return ""
}

func (a approval) openedByUs() string {
	if author := a.PullRequest.Author; !author.Same(a.self) {
		return fmt.Sprintf("it was opened by %s, not by Sluice's account: %s", name(author), askAnew)
	}
	return ""
}

func (a approval) mergedByAnother() string {
	switch merger := a.PullRequest.MergedBy; {
	case !merger.Known():
		return "it is not known by whom: " + askAnew
	case merger.Same(a.self):
		return fmt.Sprintf("by Sluice's own account %s, which approves nothing: %s", name(merger), askAnew)
	}
	return ""
}

// recordAlone: the merge adds or changes the record, and nothing else.
func (a approval) recordAlone() string {
	path := record.Path(a.gate.Namespace, a.gate.Spec.ReleaseRef.Name)
	if len(a.Files) != 1 {
		return fmt.Sprintf("it touches %d files instead of %s alone: %s", len(a.Files), path, askAnew)
	}
	file := a.Files[0]
	put := file.Status == forge.FileAdded || file.Status == forge.FileModified
	if file.Path != path || file.PreviousPath != "" || !put {
		return fmt.Sprintf("it does something else than to write %s: %s", path, askAnew)
	}
	return ""
}

// recordRead: Git has the record of this gate on the branch. It is read by Git alone, so that nobody
// has to trust what the forge says of the branch.
func (a approval) recordRead() string {
	found := recordOf(a.gate, a.source)
	problem := missing(found, a.gate)
	switch {
	case found == nil:
		return fmt.Sprintf("Git does not show its record on branch %s yet", a.branch())
	case problem != "":
		return fmt.Sprintf("Git does not show its record on branch %s yet: %s", a.branch(), problem)
	}
	return ""
}

// recordAsMerged: what Git has is what people saw in the pull request. Blobs stay the same in a merge,
// a squash and a rebase, where commits don't.
func (a approval) recordAsMerged() string {
	have := recordOf(a.gate, a.source)
	if have == nil || have.Blob == "" || len(a.Files) == 0 || have.Blob != a.Files[0].BlobSHA {
		return fmt.Sprintf("the record on branch %s is not the file of the pull request: put that back, or %s", a.branch(), askAnew)
	}
	return ""
}

func (a approval) stillTracked() string {
	if !a.OnTracked {
		return fmt.Sprintf("the merge is not on branch %s as it was read: put it back, or %s", a.branch(), askAnew)
	}
	return ""
}

// notTheRelease: an approval comes after what it approves.
func (a approval) notTheRelease() string {
	switch made := a.PullRequest.MergeCommit; {
	case made == "":
		return "it is not known what the merge made of the branch: " + askAnew
	case made == a.gate.Spec.Commit:
		return "the record came with the release commit itself: " + askAnew
	}
	return ""
}

// selfKnown: who is behind the release must be known for the policy to keep them out.
func (a approval) selfKnown() string {
	if !a.policy.ForbidSelfApproval {
		return ""
	}
	commit := a.Release.Commit
	switch {
	case a.gate.Spec.Commit == "" || commit.SHA != a.gate.Spec.Commit:
		return "it is not known which commit is released, and so not who must not approve it"
	case commit.Author.Known() && commit.Committer.Known(), slices.ContainsFunc(a.Release.PullRequests, knownAuthor):
		return ""
	default:
		return fmt.Sprintf("the forge has no account for the author or committer of %s, and they must not approve it: "+
			"release by a pull request, or with an address of an account", short(commit.SHA))
	}
}

func knownAuthor(pull forge.PullRequest) bool { return pull.Merged && pull.Author.Known() }

// mergerMay: where no reviews are asked for the merge is the approval, so it is the merger's to give.
func (a approval) mergerMay() string {
	if a.policy.MinApprovals > 0 {
		return ""
	}
	if problem := a.barred(a.PullRequest.MergedBy); problem != "" {
		return fmt.Sprintf("by %s, who %s: %s", name(a.PullRequest.MergedBy), problem, askAnew)
	}
	return ""
}

// barred says why an account that is known may not approve, by the policy; empty if it may.
func (a approval) barred(who forge.Account) string {
	switch {
	case a.policy.ForbidSelfApproval && a.behindRelease(who):
		return "is behind the release"
	case !a.listed(who):
		return "is not one of the approvers"
	}
	return ""
}

// behindRelease reports whether somebody made the release commit or proposed it.
func (a approval) behindRelease(who forge.Account) bool {
	proposed := func(pull forge.PullRequest) bool { return who.Same(pull.Author) }
	return who.Same(a.Release.Commit.Author) || who.Same(a.Release.Commit.Committer) ||
		slices.ContainsFunc(a.Release.PullRequests, proposed)
}

// listed reports whether somebody is one of those who may approve; all may if the policy names none.
func (a approval) listed(who forge.Account) bool {
	if len(a.policy.Approvers)+len(a.policy.Teams) == 0 {
		return true
	}
	in := func(team forge.Team) bool { return slices.ContainsFunc(team.Members, who.Same) }
	return slices.ContainsFunc(a.Approvers, who.Same) || slices.ContainsFunc(a.Teams, in)
}

// name is how people know an account.
func name(who forge.Account) string {
	if who.Login == "" {
		return "somebody unknown"
	}
	return who.Login
}

// short is a commit as people name it.
func short(sha string) string { return sha[:min(len(sha), 7)] }
