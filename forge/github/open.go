package github

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// OpenChange makes the requested branch and pull request, or finds them. It can be done again at
// any time, also after a crash: the pull request whose head holds exactly the content, or that we
// opened of a branch that alone tells, is the one, be it open, closed or merged, and there is never
// a second. One that is open gets the title and the body if they changed. A branch that is there
// and changes anything else than the file, or gives it another content, is set again: anyone who
// may push may have made it.
//
// A request that is the First, and gives Tip and Tree, is one request to the forge and a push;
// without Git it is four.
//
// A request for content that the tracked branch holds already is an error of kind Invalid.
func (c *Client) OpenChange(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, error) {
	if err := wire.CheckRequest(r); err != nil {
		return forge.PullRequest{}, err
	}
	if !r.First {
		known, found, err := c.findChange(ctx, r)
		if err != nil {
			return forge.PullRequest{}, err
		}
		if found {
			return c.refresh(ctx, known, r.Title, r.Body)
		}
	}
	written, err := c.ensureBranch(ctx, r)
	if err != nil {
		return forge.PullRequest{}, err
	}
	return c.createPull(ctx, r, written)
}

// FindChange looks for the pull request that was made for a request before; it reports false if
// there is none.
func (c *Client) FindChange(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, bool, error) {
	if err := wire.CheckRequest(r); err != nil {
		return forge.PullRequest{}, false, err
	}
	return c.findChange(ctx, r)
}

// findChange looks for the pull request that was made for this request before. One that is closed
// and overlooked would be made a second time, so none may be.
func (c *Client) findChange(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, bool, error) {
	made, err := allCounted(func(page github.ListOptions) ([]*github.PullRequest, *github.Response, error) {
		return c.api.PullRequests.List(ctx, c.owner, c.name, &github.PullRequestListOptions{
			State: "all", Head: c.owner + ":" + r.Branch, Base: r.Base,
			// Ours is the first: the record is known to nobody before.
			Sort: "created", Direction: "asc", ListOptions: page,
		})
	})
	if err != nil {
		return forge.PullRequest{}, false, c.explain(err, "look for pull requests of branch %s", r.Branch)
	}
	for _, pull := range convert(made, pullRequest) {
		// A filter that the forge can't make sense of is no filter.
		if pull.Head.Ref != r.Branch || pull.Base.Ref != r.Base || pull.Head.RepositoryID != pull.Base.RepositoryID {
			continue
		}
		same, err := c.asked(ctx, r, pull)
		if err != nil || same {
			pull.Written = c.branches.Written(r)
			return pull, same, err
		}
	}
	return forge.PullRequest{}, false, nil
}

// asked reports whether a pull request is the one that was made for the request. Where its branch
// alone tells, the content may have changed since, and the name may be known beforehand: it has to
// be one that we opened.
func (c *Client) asked(ctx context.Context, r forge.ChangeRequest, pull forge.PullRequest) (bool, error) {
	if !r.ByBranch {
		return c.holds(ctx, r, pull.Head.SHA)
	}
	self, err := c.Self(ctx)
	return err == nil && pull.Author.Same(self), err
}

// isOurs reports whether a branch changes the file as requested, and nothing else.
func (c *Client) isOurs(ctx context.Context, r forge.ChangeRequest) (bool, error) {
	if same, err := c.holds(ctx, r, r.Branch); !same || err != nil {
		return false, err
	}
	between, _, err := c.api.Repositories.CompareCommits(ctx, c.owner, c.name, r.Base, r.Branch, &github.ListOptions{PerPage: 1})
	if err != nil {
		return false, c.explain(err, "compare %s with %s", r.Base, r.Branch)
	}
	return between.GetAheadBy() == 1 && len(between.Files) == 1 && between.Files[0].GetFilename() == r.Path, nil
}

// holds reports whether a commit has the requested content.
func (c *Client) holds(ctx context.Context, r forge.ChangeRequest, ref string) (bool, error) {
	file, _, _, err := c.api.Repositories.GetContents(ctx, c.owner, c.name, r.Path, &github.RepositoryContentGetOptions{Ref: ref})
	if err := c.explain(err, "read %s at %s", r.Path, ref); err != nil {
		if forge.KindOf(err) == forge.NotFound {
			return false, nil
		}
		return false, err
	}
	return file.GetType() == "file" && file.GetSHA() == forge.BlobSHA(r.Content), nil
}

// ensureBranch sets the branch to a commit on top of the tracked branch that changes the file and
// nothing else. The branch comes into being with its commit, in one write. It returns the commit
// that it wrote; nothing if the branch was there with such a one.
func (c *Client) ensureBranch(ctx context.Context, r forge.ChangeRequest) (string, error) {
	if made, err := c.pushBranch(ctx, r); made != "" || err != nil {
		return made, err
	}
	sha, err := c.commitChange(ctx, r)
	if err != nil {
		return "", err
	}
	ref := &github.Reference{Ref: new("refs/heads/" + r.Branch), Object: &github.GitObject{SHA: &sha}}
	_, _, err = c.api.Git.CreateRef(ctx, c.owner, c.name, ref)
	err = c.explain(err, "create branch %s", r.Branch)
	if forge.KindOf(err) != forge.Invalid {
		return sha, err
	}
	// It exists, or it can't: what comes next tells.
	if ours, problem := c.isOurs(ctx, r); ours || problem != nil {
		return "", problem
	}
	if _, _, problem := c.api.Git.UpdateRef(ctx, c.owner, c.name, ref, true); problem != nil {
		return "", fmt.Errorf("%w, after %w", c.explain(problem, "reset branch %s", r.Branch), err)
	}
	return sha, nil
}

// MoveChange sets the branch of an open pull request again, on top of the tip that is given, if the
// commit that it was made on is no longer part of the tracked branch: merged, it would bring back
// what was rewritten away. It returns the commit that it wrote then.
func (c *Client) MoveChange(ctx context.Context, r forge.ChangeRequest, madeOn string) (string, error) {
	if err := wire.CheckRequest(r); err != nil {
		return "", err
	}
	on, err := wire.Remembered(c.facts, "descent "+madeOn+" "+r.Tip, wire.Always, func() (bool, error) {
		on, err := c.isAncestor(ctx, madeOn, r.Tip)
		if forge.KindOf(err) == forge.NotFound {
			return false, nil // the forge has thrown it away
		}
		return on, err
	})
	if err != nil || on {
		return "", err
	}
	sha, err := c.commitChange(ctx, r)
	if err != nil {
		return "", err
	}
	ref := &github.Reference{Ref: new("refs/heads/" + r.Branch), Object: &github.GitObject{SHA: &sha}}
	if _, _, err = c.api.Git.UpdateRef(ctx, c.owner, c.name, ref, true); err != nil {
		return "", c.explain(err, "reset branch %s", r.Branch)
	}
	return sha, nil
}

// commitChange makes the commit, on the tip that is given if the forge takes that: it may not have
// come as far as who read it by Git, or no longer have it.
func (c *Client) commitChange(ctx context.Context, r forge.ChangeRequest) (string, error) {
	if r.Tip != "" && r.Tree != "" {
		sha, err := c.commitOn(ctx, forge.Tip{Commit: r.Tip, Tree: r.Tree}, r)
		switch forge.KindOf(err) {
		case forge.NotFound, forge.Invalid, forge.Conflict:
		default:
			return sha, err
		}
	}
	tip, err := c.Tip(ctx, r.Base)
	if err != nil {
		return "", err
	}
	return c.commitOn(ctx, tip, r)
}

// commitOn makes the commit on top of another. Nothing refers to it yet, so making it twice does no
// harm. Our own account is the author, so that the forge signs the commit for an app.
func (c *Client) commitOn(ctx context.Context, tip forge.Tip, r forge.ChangeRequest) (string, error) {
	tree, _, err := c.api.Git.CreateTree(ctx, c.owner, c.name, tip.Tree, []*github.TreeEntry{{
		Path:    new(r.Path),
		Mode:    new("100644"),
		Type:    new("blob"),
		Content: new(string(r.Content)),
	}})
	if err == nil && tree.GetSHA() == tip.Tree {
		err = wire.Invalid("branch %s holds this %s already", r.Base, r.Path)
	}
	if err != nil {
		return "", c.explain(err, "write tree with %s", r.Path)
	}
	made, _, err := c.api.Git.CreateCommit(ctx, c.owner, c.name, &github.Commit{
		Message: new(r.Message),
		Tree:    &github.Tree{SHA: tree.SHA},
		Parents: []*github.Commit{{SHA: &tip.Commit}},
	}, nil)
	if err != nil {
		return "", c.explain(err, "write commit with %s", r.Path)
	}
	return made.GetSHA(), c.explain(wire.CheckSHA(made.GetSHA()), "write commit with %s", r.Path)
}

// createPull makes the pull request. If the forge already has one, createPull looks for it again:
// another process has just made it, or it had another content before the branch was set again.
func (c *Client) createPull(ctx context.Context, r forge.ChangeRequest, written string) (forge.PullRequest, error) {
	made, _, err := c.api.PullRequests.Create(ctx, c.owner, c.name, &github.NewPullRequest{
		Title: &r.Title, Head: &r.Branch, Base: &r.Base, Body: &r.Body,
	})
	err = c.explain(err, "open pull request of branch %s", r.Branch)
	if err == nil && made.GetNumber() == 0 {
		err = wire.Distrusted("open pull request of branch %s: the answer has no number", r.Branch)
	}
	if forge.KindOf(err) != forge.Invalid {
		opened := pullRequest(made)
		opened.Written = written
		return opened, err
	}
	known, found, problem := c.findChange(ctx, r)
	switch {
	case problem != nil:
		return forge.PullRequest{}, problem
	case found:
		return c.refresh(ctx, known, r.Title, r.Body)
	case strings.Contains(err.Error(), "already exists"): // but lists don't have it yet
		return forge.PullRequest{}, &forge.Error{Kind: forge.Conflict, Message: err.Error()}
	}
	return forge.PullRequest{}, err
}

// UpdateApproval gives an open pull request another title and body, if it has not got them.
func (c *Client) UpdateApproval(ctx context.Context, number int, title, body string) (forge.PullRequest, error) {
	known, err := c.pull(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	return c.refresh(ctx, known, title, body)
}

// refresh leaves a pull request that is closed as it is.
func (c *Client) refresh(ctx context.Context, known forge.PullRequest, title, body string) (forge.PullRequest, error) {
	if known.State != forge.PullOpen || known.Title == title && wire.SameText(known.Body, body) {
		return known, nil
	}
	changed, _, err := c.api.PullRequests.Edit(ctx, c.owner, c.name, known.Number, &github.PullRequest{Title: &title, Body: &body})
	if err != nil {
		return forge.PullRequest{}, c.explain(err, "update pull request #%d", known.Number)
	}
	updated := pullRequest(changed)
	updated.Written = known.Written
	return updated, nil
}
