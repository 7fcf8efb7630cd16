// Package proposals opens pull requests of one file, and closes them, on forges whose branches Git
// makes. An adapter says how its forge lists and changes pull requests.
package proposals

import (
	"context"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/bygit"
	"github.com/sluice-dev/sluice/forge/wire"
)

// Forge changes one repository on a forge. Its errors say what failed.
type Forge interface {
	// Self returns our own account.
	Self(ctx context.Context) (forge.Account, error)
	// PullRequest reads one pull request.
	PullRequest(ctx context.Context, number int) (forge.PullRequest, error)
	// Create opens the pull request of a request. If there is one already, the error is of kind
	// Conflict or Invalid.
	Create(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, error)
	// Visit shows pull requests until show returns true. It leaves out none of the request's branch.
	Visit(ctx context.Context, r forge.ChangeRequest, show func(forge.PullRequest) (stop bool)) error
	// Edit gives a pull request another title and body.
	Edit(ctx context.Context, number int, title, body string) (forge.PullRequest, error)
	// Shut closes a pull request.
	Shut(ctx context.Context, number int) error
	// Comments returns the comments of people and programs below a pull request.
	Comments(ctx context.Context, number int) ([]Comment, error)
	// Say adds a comment.
	Say(ctx context.Context, number int, text string) error
	// BlobAt returns the name of a file's content at a commit; empty if there is no such file.
	BlobAt(ctx context.Context, path, ref string) (string, error)
	// Stays reports whether a branch that was made on a commit can stay as it is, with the tracked one
	// at a tip.
	Stays(ctx context.Context, madeOn, tip string) (bool, error)
	// Plain returns text of which the forge carries nothing out. People read the same.
	Plain(text string) string
	// Explain says what failed.
	Explain(err error, format string, args ...any) error
}

// Comment is one below a pull request.
type Comment struct {
	By   forge.Account
	Text string
}

// Proposals implements forge.Proposals.
type Proposals struct {
	Forge    Forge
	Branches *bygit.Branches
}

var _ forge.Proposals = Proposals{}

// OpenChange makes the requested branch and pull request, or finds them. A branch that is there and
// holds anything else is set again: anyone who may push may have made it.
func (p Proposals) OpenChange(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, error) {
	if err := wire.CheckRequest(r); err != nil {
		return forge.PullRequest{}, err
	}
	if !r.First {
		known, found, err := p.find(ctx, r)
		if err != nil {
			return forge.PullRequest{}, err
		}
		if found {
			return p.refresh(ctx, known, r.Title, r.Body)
		}
	}
	written, err := p.push(ctx, r)
	if err != nil {
		return forge.PullRequest{}, err
	}
	opened, err := p.Forge.Create(ctx, r)
	if kind := forge.KindOf(err); kind != forge.Conflict && kind != forge.Invalid {
		opened.Written = written.Commit
		return opened, err
	}
	// Another process has just made it.
	known, found, problem := p.find(ctx, r)
	switch {
	case problem != nil:
		return forge.PullRequest{}, problem
	case found:
		return p.refresh(ctx, known, r.Title, r.Body)
	}
	return forge.PullRequest{}, err
}

// push sets the branch to a commit on top of the tracked branch that changes the file and nothing
// else.
func (p Proposals) push(ctx context.Context, r forge.ChangeRequest) (forge.MadeBranch, error) {
	made, err := p.Branches.Set(ctx, r)
	return made, p.Forge.Explain(err, "push branch %s", r.Branch)
}

// FindChange looks for the pull request that was made for a request before.
func (p Proposals) FindChange(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, bool, error) {
	if err := wire.CheckRequest(r); err != nil {
		return forge.PullRequest{}, false, err
	}
	return p.find(ctx, r)
}

// find looks through our pull requests of the branch. One that is closed and overlooked would be
// made a second time, so none may be.
func (p Proposals) find(ctx context.Context, r forge.ChangeRequest) (found forge.PullRequest, is bool, err error) {
	self, err := p.Forge.Self(ctx)
	if err != nil {
		return found, false, err
	}
	var problem error
	err = p.Forge.Visit(ctx, r, func(one forge.PullRequest) bool {
		if one.Head.Ref != r.Branch || one.Base.Ref != r.Base || one.Head.RepositoryID != one.Base.RepositoryID || !one.Author.Same(self) {
			return false
		}
		if is = r.ByBranch; !is {
			var blob string
			blob, problem = p.Forge.BlobAt(ctx, r.Path, one.Head.SHA)
			is = problem == nil && blob == forge.BlobSHA(r.Content)
		}
		if is {
			found = one
		}
		return is || problem != nil
	})
	if problem != nil {
		return forge.PullRequest{}, false, problem
	}
	if err != nil || !is {
		return forge.PullRequest{}, false, err
	}
	found.Written = p.Branches.Written(r)
	return found, true, nil
}

// MoveChange sets the branch of an open pull request again, on top of the tip that is given, if it
// can't stay on the commit that it was made on.
func (p Proposals) MoveChange(ctx context.Context, r forge.ChangeRequest, madeOn string) (string, error) {
	if err := wire.CheckRequest(r); err != nil {
		return "", err
	}
	if stays, err := p.Forge.Stays(ctx, madeOn, r.Tip); err != nil || stays {
		return "", err
	}
	made, err := p.push(ctx, r)
	if err != nil {
		return "", err
	}
	return made.Commit, nil
}

// UpdateApproval gives an open pull request another title and body, if it has not got them.
func (p Proposals) UpdateApproval(ctx context.Context, number int, title, body string) (forge.PullRequest, error) {
	known, err := p.Forge.PullRequest(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	return p.refresh(ctx, known, title, body)
}

// refresh leaves a pull request that is closed as it is.
func (p Proposals) refresh(ctx context.Context, known forge.PullRequest, title, body string) (forge.PullRequest, error) {
	body = p.Forge.Plain(body)
	if known.State != forge.PullOpen || known.Title == title && wire.SameText(known.Body, body) {
		return known, nil
	}
	updated, err := p.Forge.Edit(ctx, known.Number, title, body)
	if err != nil {
		return forge.PullRequest{}, err
	}
	updated.Written = known.Written
	return updated, nil
}

// CloseApproval says why in a comment and closes the pull request of a branch. One that is closed,
// or whose number is that of another branch, is left as it is.
func (p Proposals) CloseApproval(ctx context.Context, number int, branch, comment string) error {
	known, err := p.Forge.PullRequest(ctx, number)
	if err != nil || known.State != forge.PullOpen || known.Head.Ref != branch {
		return err
	}
	// The comment comes first: after a crash in between, the pull request that is still open
	// brings us here again, and the comment is not made twice.
	if err := p.Comment(ctx, number, comment); err != nil {
		return err
	}
	return p.Forge.Shut(ctx, number)
}

// Comment says something below a pull request, unless we have said the same there before.
func (p Proposals) Comment(ctx context.Context, number int, text string) error {
	self, err := p.Forge.Self(ctx)
	if err != nil {
		return err
	}
	said, err := p.Forge.Comments(ctx, number)
	if err != nil {
		return err
	}
	text = p.Forge.Plain(text)
	for _, one := range said {
		if one.By.Same(self) && wire.SameText(one.Text, text) {
			return nil
		}
	}
	return p.Forge.Say(ctx, number, text)
}

// DeleteBranch removes the branch of an approval, if it is there. No other branch is removed.
func (p Proposals) DeleteBranch(ctx context.Context, name string) error {
	if err := wire.CheckOwnBranch(name); err != nil {
		return err
	}
	return p.Forge.Explain(p.Branches.Remove(ctx, name), "delete branch %s", name)
}

// Descends reports whether a commit is a tip or one of its ancestors, as the forge says, which is
// asked once. A commit that the server has thrown away is none.
func Descends(facts *wire.Facts, sha, tip string, is func() (bool, error)) (bool, error) {
	return wire.Remembered(facts, "descent "+sha+" "+tip, wire.Always, func() (bool, error) {
		on, err := is()
		if forge.KindOf(err) == forge.NotFound {
			return false, nil
		}
		return on, err
	})
}
