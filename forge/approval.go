package forge

import "time"

// BranchPrefix begins the name of each branch that is made for an approval.
const BranchPrefix = "sluice/"

// ChangeRequest asks for a pull request that changes one file of the tracked branch: the record of
// an approval, or a manifest that is put back.
type ChangeRequest struct {
	// Branch is the branch to make. It begins with BranchPrefix.
	Branch string
	// Base is the tracked branch.
	Base string
	// Path and Content are the one file that the branch changes. The content tells this
	// request from any other: no two gates ask with the same.
	Path    string
	Content []byte
	// ByBranch says that the branch alone tells this request from any other: the pull request that we
	// opened of it before is it, whatever the content is by now.
	ByBranch bool
	// Tip and Tree are a commit of the tracked branch, as Git has it, and its tree: the branch is made
	// on top of it. Where they are not given the forge is asked.
	Tip, Tree string
	// First reports whether this is the first request for the change, so that there is none to look
	// for. It only saves requests: leave it out if in doubt.
	First bool
	// Message is the message of the commit, and At its time; zero for now. The same request with the
	// same time makes the same commit.
	Message string
	At      time.Time
	// Title and Body are the text of the pull request.
	Title string
	Body  string
}

// Tip is the last commit of a branch, with its tree.
type Tip struct{ Commit, Tree string }

// ApprovalQuery selects the facts to read on an approval.
type ApprovalQuery struct {
	// Number of the pull request.
	Number int
	// Tip is the commit of the tracked branch that was read by Git.
	Tip string
	// Branch is the tracked branch: the query asks who moved it.
	Branch string
	// Reviews asks for the reviews of the pull request, Commits for its commits.
	Reviews, Commits bool
	// Written is the commit that Sluice wrote on the pull request's branch; empty if it is not known. A
	// pull request that ends elsewhere has its commits read, asked for or not.
	Written string
	// ReleaseCommit asks who made what that commit has and StableCommit has not, and who brought it in.
	// Optional.
	ReleaseCommit, StableCommit string
	// Approvers asks for the accounts of these logins.
	Approvers []string
	// Trusted asks for the accounts of these logins, too.
	Trusted []string
	// Teams asks for the members of these teams: slug, or organization/slug. A slug alone is
	// one of the repository's owner.
	Teams []string
}

// Approval holds the facts that an approval is judged by. Before the merge only Repository, Self
// and PullRequest are set. Each rule reads these fields:
//
//	into the tracked branch of the repository   PullRequest.Base, Repository.ID
//	merged, and by somebody other than us       PullRequest.Merged, MergedBy, Self
//	still on the tracked branch                 OnTracked
//	the record and no other file                Files: exactly one, with its path and not renamed
//	and nothing else with the same merge        Alone, or Result.Files and how it came there: Pushes
//	the same as was reviewed                    Files[0].BlobSHA, against what Git has on the branch
//	did not come with the release itself        PullRequest.MergeCommit, Release.Commit.SHA
//	enough approvals, none taken back           Reviews: the latest of each reviewer
//	of what was merged                          Reviews.CommitID, PullRequest.Head.SHA
//	by those who may                            Reviews.Reviewer, Approvers, Teams, Permissions
//	and not by those behind the release         Release, Pushes, Commits, PullRequest.Author
type Approval struct {
	// Repository is the one that is configured.
	Repository Repository
	// Self is the account that we act as: its merge is no approval.
	Self        Account
	PullRequest PullRequest

	// Files are all that the pull request touches.
	Files []ChangedFile
	// OnTracked reports whether the result of the merge is the tip that was asked about, or
	// one of its ancestors.
	OnTracked bool
	// Result is the branch after the merge.
	Result Result
	// Alone reports that Git shows the result to be the tracked branch as the pull request was made on,
	// with its record, and nothing else. Then Pushes are not read, unless Release is.
	Alone bool
	// Pushes are the moves of the tracked branch, newest first, as far back as is asked about.
	Pushes []Push
	// PushesTold reports whether the forge says who moves branches. Some older ones don't.
	PushesTold bool
	// PushesCut is set if the branch moved more often since the stable commit than the forge was asked
	// about.
	PushesCut bool

	// Reviews are all reviews, oldest first. Set if they were asked for.
	Reviews []Review
	// Commits are all commits of the pull request; there is at least one. Set if they were asked for.
	Commits []Commit
	// Release is set if its commits were asked about.
	Release ReleaseOrigin
	// Permissions are the permissions of the accounts that were asked about.
	Permissions []Permission
	// Approvers are the accounts of the logins asked about, in that order; one that nobody
	// has is not Known.
	Approvers []Account
	// Trusted are the accounts of the programs asked about, in that order.
	Trusted []Account
	// Teams are those asked about, in that order.
	Teams []Team
}
