package forge

import "time"

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
