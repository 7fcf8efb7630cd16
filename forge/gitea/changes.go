package gitea

import (
	"context"
	"net/http"
	"net/url"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// OpenChange makes the requested branch and pull request, or finds them. A branch that is there and
// holds anything else is set again: anyone who may push may have made it.
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
	written, err := c.push(ctx, r)
	if err != nil {
		return forge.PullRequest{}, err
	}
	var made pull
	err = c.api.Send(ctx, http.MethodPost, "pulls", map[string]string{"title": r.Title, "body": r.Body, "head": r.Branch, "base": r.Base}, &made)
	if err == nil && made.Number == 0 {
		err = wire.Distrusted("the answer has no number")
	}
	err = c.api.Explain(err, "open pull request of branch %s", r.Branch)
	if kind := forge.KindOf(err); kind != forge.Conflict && kind != forge.Invalid {
		opened := made.pullRequest()
		opened.Written = written.Commit
		return opened, err
	}
	// Another process has just made it.
	known, found, problem := c.findChange(ctx, r)
	switch {
	case problem != nil:
		return forge.PullRequest{}, problem
	case found:
		return c.refresh(ctx, known, r.Title, r.Body)
	}
	return forge.PullRequest{}, err
}

// push sets the branch to a commit on top of the tracked branch that changes the file and nothing
// else.
func (c *Client) push(ctx context.Context, r forge.ChangeRequest) (forge.MadeBranch, error) {
	made, err := c.branches.Set(ctx, r)
	return made, c.api.Explain(err, "push branch %s", r.Branch)
}

// FindChange looks for the pull request that was made for a request before.
func (c *Client) FindChange(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, bool, error) {
	if err := wire.CheckRequest(r); err != nil {
		return forge.PullRequest{}, false, err
	}
	return c.findChange(ctx, r)
}

// findChange looks through our pull requests into the tracked branch. One that is closed and
// overlooked would be made a second time, so none may be.
func (c *Client) findChange(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return forge.PullRequest{}, false, err
	}
	var found forge.PullRequest
	var problem error
	query := url.Values{"state": {"all"}, "base_branch": {r.Base}, "poster": {self.Login}}
	err = wire.Walk(ctx, c.api, "pulls", query, func(some []pull) bool {
		for i := range some {
			one := some[i].pullRequest()
			if one.Head.Ref != r.Branch || one.Base.Ref != r.Base || one.Head.RepositoryID != one.Base.RepositoryID || !one.Author.Same(self) {
				continue
			}
			same := r.ByBranch
			if !same {
				same, problem = c.holds(ctx, r, one.Head.SHA)
			}
			if same || problem != nil {
				found = one
				found.Written = c.branches.Written(r)
				return true
			}
		}
		return false
	})
	if problem == nil {
		problem = c.api.Explain(err, "look for pull requests of branch %s", r.Branch)
	}
	return found, found.Number != 0 && problem == nil, problem
}

// holds reports whether a commit has the requested content.
func (c *Client) holds(ctx context.Context, r forge.ChangeRequest, ref string) (bool, error) {
	blob, err := c.blobAt(ctx, r.Path, ref)
	return blob == forge.BlobSHA(r.Content), err
}

// blobAt returns the name of a file's content at a commit; empty if there is no such file.
func (c *Client) blobAt(ctx context.Context, path, ref string) (string, error) {
	found, err := c.contentAt(ctx, path, ref)
	if forge.KindOf(err) == forge.NotFound {
		return "", nil
	}
	return found.SHA, err
}

// MoveChange sets the branch of an open pull request again, on top of the tip that is given, if the
// commit that it was made on is no longer part of the tracked branch.
func (c *Client) MoveChange(ctx context.Context, r forge.ChangeRequest, madeOn string) (string, error) {
	if err := wire.CheckRequest(r); err != nil {
		return "", err
	}
	on, err := wire.Remembered(c.facts, "descent "+madeOn+" "+r.Tip, wire.Always, func() (bool, error) {
		on, err := c.isAncestor(ctx, madeOn, r.Tip)
		if forge.KindOf(err) == forge.NotFound {
			return false, nil // the server has thrown it away
		}
		return on, err
	})
	if err != nil || on {
		return "", err
	}
	made, err := c.push(ctx, r)
	if err != nil {
		return "", err
	}
	return made.Commit, nil
}

// UpdateApproval gives an open pull request another title and body, if it has not got them.
func (c *Client) UpdateApproval(ctx context.Context, number int, title, body string) (forge.PullRequest, error) {
	known, err := c.PullRequest(ctx, number)
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
	var changed pull
	err := c.api.Send(ctx, http.MethodPatch, at("pulls/%s", known.Number), map[string]string{"title": title, "body": body}, &changed)
	updated := changed.pullRequest()
	updated.Written = known.Written
	return updated, c.api.Explain(err, "update pull request #%d", known.Number)
}

// CloseApproval says why in a comment and closes the pull request of a branch. One that is closed,
// or whose number is that of another branch, is left as it is.
func (c *Client) CloseApproval(ctx context.Context, number int, branch, text string) error {
	known, err := c.PullRequest(ctx, number)
	if err != nil || known.State != forge.PullOpen || known.Head.Ref != branch {
		return err
	}
	// The comment comes first: after a crash in between, the pull request that is still open
	// brings us here again, and the comment is not made twice.
	if err := c.Comment(ctx, number, text); err != nil {
		return err
	}
	err = c.api.Send(ctx, http.MethodPatch, at("pulls/%s", number), map[string]string{"state": "closed"}, nil)
	return c.api.Explain(err, "close pull request #%d", number)
}

// Comment says something below a pull request, unless we have said the same there before.
func (c *Client) Comment(ctx context.Context, number int, text string) error {
	self, err := c.Self(ctx)
	if err != nil {
		return err
	}
	var said []comment
	if err := c.api.Get(ctx, at("issues/%s/comments", number), nil, &said); err != nil {
		return c.api.Explain(err, "read comments of pull request #%d", number)
	}
	for _, one := range said {
		if one.User.account().Same(self) && wire.SameText(one.Body, text) {
			return nil
		}
	}
	err = c.api.Send(ctx, http.MethodPost, at("issues/%s/comments", number), map[string]string{"body": text}, nil)
	return c.api.Explain(err, "comment on pull request #%d", number)
}

// DeleteBranch removes the branch of an approval, if it is there. No other branch is removed.
func (c *Client) DeleteBranch(ctx context.Context, name string) error {
	if err := wire.CheckOwnBranch(name); err != nil {
		return err
	}
	return c.api.Explain(c.branches.Remove(ctx, name), "delete branch %s", name)
}
