package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/internal/plain"
)

// askAnew returns what helps where nothing else does: the pull request can't be merged a second
// time.
func (a approval) askAnew() string {
	return fmt.Sprintf("'kubectl delete gate %s -n %s' asks again", a.gate.Name, a.gate.Namespace)
}

// A rule looks at one side of a merge.
type rule struct {
	// check says why the merge does not pass the gate; empty if it may.
	check func(approval) string
	// passing is set where that is no refusal: it goes away by itself.
	passing bool
}

// mergeRules must all hold. Those on what is final come before those on what may still come.
var mergeRules = []rule{
	{check: approval.intoTrackedBranch},
	{check: approval.openedByUs},
	{check: approval.mergedByAnother},
	{check: approval.recordAlone},
	{check: approval.asWritten},
	{check: approval.recordRead, passing: true},
	{check: approval.recordAsMerged},
	{check: approval.stillTracked},
	{check: approval.notTheRelease},
	{check: approval.mergedAlone},
	{check: approval.selfKnown},
	{check: approval.commitsRead},
	{check: approval.mergerMay},
	{check: approval.enoughApprovals},
}

func (a approval) intoTrackedBranch() string {
	base := a.PullRequest.Base
	switch {
	case base.RepositoryID == 0 || base.RepositoryID != a.Repository.ID:
		return "not into the repository of the ReleaseSource: " + a.askAnew()
	case base.Ref != a.branch():
		return fmt.Sprintf("into %s, not into %s: %s", base.Ref, a.branch(), a.askAnew())
	}
	return ""
}

func (a approval) openedByUs() string {
	if author := a.PullRequest.Author; !author.Same(a.self) {
		return fmt.Sprintf("it was opened by %s, not by Sluice's account: %s", name(author), a.askAnew())
	}
	return ""
}

func (a approval) mergedByAnother() string {
	switch merger := a.PullRequest.MergedBy; {
	case !merger.Known():
		return "it is not known by whom: " + a.askAnew()
	case merger.Same(a.self):
		return fmt.Sprintf("by Sluice's own account %s, which approves nothing: %s", name(merger), a.askAnew())
	}
	return ""
}

// recordAlone requires that the merge adds or changes the record, and no other file.
func (a approval) recordAlone() string {
	path := record.Path(a.gate.Namespace, a.gate.Spec.ReleaseRef.Name)
	if len(a.Files) != 1 {
		return fmt.Sprintf("it touches %d files instead of %s alone: %s", len(a.Files), path, a.askAnew())
	}
	file := a.Files[0]
	put := file.Status == forge.FileAdded || file.Status == forge.FileModified
	if file.Path != path || file.PreviousPath != "" || !put {
		return fmt.Sprintf("it does something other than write %s: %s", path, a.askAnew())
	}
	return ""
}

// asWritten requires that what was merged is the commit that Sluice wrote, with nothing but the
// tracked branch on top: there was nothing else to approve. Gates that do not know it, as those of
// earlier versions, rest on the other rules.
func (a approval) asWritten() string {
	opened := a.gate.Status.PullRequest
	if opened == nil || opened.Head == "" || opened.Head == a.PullRequest.Head.SHA || a.sameChange(opened.Head) {
		return ""
	}
	return fmt.Sprintf("its head is not the commit that Sluice wrote, %s: %s", plain.Commit(opened.Head), a.askAnew())
}

// recordRead requires that Git has the record of this gate on the branch. Sluice reads it from Git
// alone, and trusts no answer of the forge on the branch.
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

// recordAsMerged requires that Git has the record that reviewers saw in the pull request. It
// compares blobs, which a merge, a squash and a rebase keep; commits change.
func (a approval) recordAsMerged() string {
	have := recordOf(a.gate, a.source)
	if have == nil || have.Blob == "" || len(a.Files) == 0 || have.Blob != a.Files[0].BlobSHA {
		return fmt.Sprintf("the record on branch %s is not the file of the pull request: put that back, or %s", a.branch(), a.askAnew())
	}
	return ""
}

func (a approval) stillTracked() string {
	if !a.OnTracked {
		return fmt.Sprintf("the merge is not on branch %s as it was read: put it back, or %s", a.branch(), a.askAnew())
	}
	return ""
}

// notTheRelease requires that the approval comes after the commit that it approves.
func (a approval) notTheRelease() string {
	switch made := a.PullRequest.MergeCommit; {
	case made == "":
		return "it is not known what the merge did to the branch: " + a.askAnew()
	case made == a.gate.Spec.Commit:
		return "the record came with the release commit itself: " + a.askAnew()
	}
	return ""
}

// mergedAlone requires that the push with the record brought nothing else. A forge counts a pull
// request as merged once the branch has its head, even if other commits came in the same push.
func (a approval) mergedAlone() string {
	path, made := record.Path(a.gate.Namespace, a.gate.Spec.ReleaseRef.Name), a.Result
	sha := made.Commit.SHA
	switch {
	case sha == "" || sha != a.PullRequest.MergeCommit:
		return "it is not known what the merge changed"
	case a.Alone:
		return ""
	case made.More || len(made.Files) != 1 || made.Files[0].Path != path:
		return fmt.Sprintf("along with something else: commit %s changes more than %s: %s", plain.Commit(sha), path, a.askAnew())
	}
	at := slices.IndexFunc(a.Pushes, func(p forge.Push) bool { return p.After == sha })
	switch {
	case at >= 0 && (a.Pushes[at].ByForge() || slices.Index(made.Commit.Parents, a.Pushes[at].Before) == 0):
		return ""
	case at >= 0:
		return fmt.Sprintf("it came to branch %s along with something else, by a push: %s", a.branch(), a.askAnew())
	case a.signedByForge(made.Commit), !a.PushesTold && sha != a.PullRequest.Head.SHA:
		return ""
	}
	return fmt.Sprintf("the forge does not say that it came to branch %s alone: %s", a.branch(), a.askAnew())
}

// signedByForge reports whether a commit was made by the forge itself, by its signature.
func (a approval) signedByForge(commit forge.Commit) bool {
	return commit.Verified && commit.Committer.Known() && strings.EqualFold(commit.Committer.Login, forgesOwn)
}

// selfKnown requires that the contributors to the release are known, if the policy excludes them.
func (a approval) selfKnown() string {
	if !a.policy.ForbidSelfApproval {
		return ""
	}
	return a.behind.unknown
}

// commitsRead requires the commits of the gate's own pull request, if contributors must not
// approve: they contributed to it too.
func (a approval) commitsRead() string {
	if (a.policy.ForbidSelfApproval || a.policy.MinApprovals > 0) && len(a.Commits) == 0 {
		return "who made its commits is not known"
	}
	return ""
}

// mergerMay requires that the merger may approve, if the gate requires no reviews: the merge is the
// approval then.
func (a approval) mergerMay() string {
	if a.policy.MinApprovals > 0 {
		return ""
	}
	merger := a.PullRequest.MergedBy
	if problem := cmp.Or(a.barred(merger), a.writes(merger)); problem != "" {
		return fmt.Sprintf("by %s, who %s: another person must approve: %s", name(merger), problem, a.askAnew())
	}
	return ""
}

// barred says why an account that is known may not approve, by the policy; empty if it may.
func (a approval) barred(who forge.Account) string {
	switch part := a.behind.part(who); {
	case a.policy.ForbidSelfApproval && part != "":
		return part
	case a.policy.ForbidSelfApproval && a.madeCommit(who):
		return madeCommit
	}
	return a.unlisted(who)
}

// unlisted says why an account is not one whose answer counts, whatever it contributed to the
// release; empty if it is.
func (a approval) unlisted(who forge.Account) string {
	switch {
	case !a.listed(who) && a.changed != "":
		return "is not one of the approvers: " + a.changed
	case !a.listed(who):
		return "is not one of the approvers"
	case who.Type != forge.TypeUser && !slices.ContainsFunc(a.Approvers, who.Same):
		return "is not a person, and not named in approvers"
	}
	return ""
}

const madeCommit = "made a commit of the pull request"

// madeCommit reports whether an account has made a commit of the gate's own pull request. A commit
// of the button "Update branch" is no contribution.
func (a approval) madeCommit(who forge.Account) bool {
	return slices.ContainsFunc(a.Commits, func(c forge.Commit) bool {
		return (who.Same(c.Author) || who.Same(c.Committer)) && !a.updates(c)
	})
}

// updates reports whether a commit of the gate's own pull request merges the tracked branch into
// it. All that such a commit may change otherwise is seen in the files of the pull request, of
// which none but the record passes.
func (a approval) updates(commit forge.Commit) bool {
	own := func(sha string) bool {
		return slices.ContainsFunc(a.Commits, func(c forge.Commit) bool { return c.SHA == sha })
	}
	return len(commit.Parents) == 2 && own(commit.Parents[0]) && !own(commit.Parents[1])
}

// sameChange reports whether the head of the pull request has the change that an earlier head had:
// all that came since is the tracked branch.
func (a approval) sameChange(earlier string) bool {
	for _, commit := range forge.Line(a.Commits, a.PullRequest.Head.SHA) {
		if commit.SHA == earlier || !a.updates(commit) {
			return commit.SHA == earlier
		}
	}
	return false
}

// writes says why somebody may not write to the repository; empty if they may. A program that is
// named has what its installation was given, and the forge does not show that. An account of no
// known type may be a person who is gone.
func (a approval) writes(who forge.Account) string {
	if who.Type == forge.TypeBot {
		return ""
	}
	at := slices.IndexFunc(a.Permissions, func(p forge.Permission) bool { return p.Account.Same(who) })
	switch {
	case at < 0:
		return "is not known to have write access to the repository"
	case !a.Permissions[at].Write:
		return "has no write access to the repository"
	}
	return ""
}

// listed reports whether somebody is one of those who may approve; all may if the policy names
// none.
func (a approval) listed(who forge.Account) bool {
	if len(a.policy.Approvers)+len(a.policy.Teams) == 0 {
		return true
	}
	in := func(team forge.Team) bool { return slices.ContainsFunc(team.Members, who.Same) }
	return slices.ContainsFunc(a.Approvers, who.Same) || slices.ContainsFunc(a.Teams, in)
}

// name returns how people know an account.
func name(who forge.Account) string {
	if who.Login == "" {
		return "somebody unknown"
	}
	return who.Login
}
