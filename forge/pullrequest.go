package forge

import "time"

// PullState is the state of a pull request.
type PullState string

// The states of a pull request. A merged one is closed, too.
const (
	PullOpen   PullState = "open"
	PullClosed PullState = "closed"
)

// Branch is one end of a pull request.
type Branch struct {
	// Ref is the name of the branch, without refs/heads/.
	Ref string
	// SHA is the commit that the forge sees there. Of a pull request that is closed it is the last
	// one.
	SHA string
	// RepositoryID is the repository of the branch; 0 if that is gone.
	RepositoryID int64
}

// PullRequest is a proposal to change the base branch.
type PullRequest struct {
	Number int
	URL    string
	Title  string
	Body   string
	State  PullState
	Author Account
	Base   Branch
	Head   Branch
	// CreatedAt, UpdatedAt, ClosedAt: zero where it has not happened.
	CreatedAt, UpdatedAt, ClosedAt time.Time

	Merged   bool
	MergedAt time.Time
	// MergedBy is not known from lists of pull requests.
	MergedBy Account
	// ClosedBy closed it. It is known only of an approval that was closed without being merged.
	ClosedBy Account
	// MergeCommit is the head of the base branch after the merge: the merge commit, the squashed
	// commit, or the last of the rebased ones. Empty before the merge.
	MergeCommit string
	// Written is the commit that we wrote on the head, as Git or the request that made it has it, and
	// not as the forge tells of the pull request. It is known where the pull request is opened, or
	// found by the process that wrote the commit.
	Written string
}

// Rejected reports whether it was closed without being merged.
func (p PullRequest) Rejected() bool { return p.State == PullClosed && !p.Merged }

// FileStatus is the kind of a pull request's change of a file.
type FileStatus string

// What a pull request can do to a file.
const (
	FileAdded    FileStatus = "added"
	FileModified FileStatus = "modified"
	FileRemoved  FileStatus = "removed"
	FileRenamed  FileStatus = "renamed"
	FileCopied   FileStatus = "copied"
	FileChanged  FileStatus = "changed"
)

// ChangedFile is a file that a pull request touches.
type ChangedFile struct {
	Path string
	// PreviousPath is the earlier path of a renamed file.
	PreviousPath string
	Status       FileStatus
	// BlobSHA is the content at the head of the pull request.
	BlobSHA string
}

// ReviewState is the answer of a reviewer.
type ReviewState string

// The states of a review.
const (
	ReviewApproved         ReviewState = "APPROVED"
	ReviewChangesRequested ReviewState = "CHANGES_REQUESTED"
	ReviewCommented        ReviewState = "COMMENTED"
	ReviewDismissed        ReviewState = "DISMISSED"
	ReviewPending          ReviewState = "PENDING"
	// ReviewUnofficial is an approval that the forge does not count, as of somebody who may only read.
	ReviewUnofficial ReviewState = "UNOFFICIAL"
)

// Review is one review of a pull request. A reviewer may have made many.
type Review struct {
	// ID grows with time.
	ID       int64
	Reviewer Account
	// State is the present one: a review that is dismissed was something else before.
	State ReviewState
	// CommitID is the head that the reviewer saw.
	CommitID string
	// Belongs reports whether the forge counts the reviewer among those who work on the repository. It
	// is no right to anything, and may be false of those whose membership is not shown to us.
	Belongs     bool
	SubmittedAt time.Time
	URL         string
}

// Commit is a commit with the accounts that the forge found for its author and committer.
type Commit struct {
	SHA string
	// Author and Committer are not known where the forge has no account for the e-mail address.
	// Addresses are free text: the maker of a commit can name another account.
	Author    Account
	Committer Account
	// AuthorAddress is the e-mail address of the author, and CoAuthors those of the message's
	// Co-authored-by lines, and of the author of the commit that it says it was made from.
	AuthorAddress string
	CoAuthors     []string
	// Parents, the first one first.
	Parents []string
	// Verified reports whether the forge accepts the commit's signature; Verification says why
	// or why not, in the forge's word.
	Verified     bool
	Verification string
}
