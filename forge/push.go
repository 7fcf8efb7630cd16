package forge

import (
	"context"
	"time"
)

// Remote is a repository as Git reaches it, with what it takes as user and password.
type Remote struct {
	URL, User, Password string
	CABundle            []byte
	Timeout             time.Duration
}

// Signature names the maker of a commit.
type Signature struct {
	Name, Address string
	At            time.Time
}

// NewBranch asks Git for a branch with one commit on top of the tracked branch, which changes one
// file. Equal requests make equal commits.
type NewBranch struct {
	Change ChangeRequest
	Author Signature
	// Over is the commit at which the branch stands, and from which it is moved; empty for none.
	Over string
}

// MadeBranch is the result of a NewBranch.
type MadeBranch struct {
	// Tip is the commit that was made.
	Tip

	// Parent is the commit that it was made on.
	Parent string
	// Standing is the commit at which the branch stands instead: it was there before. Empty if the
	// branch has the new commit.
	Standing string
}

// Head is the last commit of a branch, as Git has it.
type Head struct {
	Tip

	// Parents, the first one first.
	Parents []string
}

// KeptFile is a file that a commit of a ref has, and nothing else.
type KeptFile struct {
	// Ref is the whole name of the ref, such as refs/sluice/gates.
	Ref, Path, Message string
	Content            []byte
	// At is the time of the commit.
	At time.Time
}

// AppendedFile asks Git for the commit of a KeptFile on top of its ref.
type AppendedFile struct {
	KeptFile

	Author Signature
}

// Git reads and moves branches over Git's own protocol, which no rate limit counts. It moves a
// branch from the commit that is given, and from no other.
type Git interface {
	// Head returns the last commit of a branch.
	Head(ctx context.Context, at Remote, branch string) (Head, error)
	// Push makes a branch with its commit.
	Push(ctx context.Context, at Remote, branch NewBranch) (MadeBranch, error)
	// Append makes a commit with one file and nothing else on top of a ref, which it makes if there is
	// none.
	Append(ctx context.Context, at Remote, file AppendedFile) error
	// Remove removes a branch that stands at a commit; without one, wherever it stands.
	Remove(ctx context.Context, at Remote, branch, commit string) error
}
