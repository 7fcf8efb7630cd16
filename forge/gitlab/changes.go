package gitlab

import (
	"context"
	"net/http"
	"net/url"
	"regexp"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// action begins a line of text that GitLab would carry out as ours, such as /merge or /approve.
var action = regexp.MustCompile(`(?m)^([ \t>]*)/`)

// text returns text of which GitLab carries nothing out. People read the same.
func text(said string) string { return action.ReplaceAllString(said, `$1\/`) }

// OpenChange makes the requested branch and merge request, or finds them. A branch that is there
// and holds anything else is set again: anyone who may push may have made it.
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
	var made mergeRequest
	body := map[string]string{"title": r.Title, "description": text(r.Body), "source_branch": r.Branch, "target_branch": r.Base}
	err = c.api.Send(ctx, http.MethodPost, "merge_requests", body, &made)
	if err == nil && made.Number == 0 {
		err = wire.Distrusted("the answer has no number")
	}
	err = c.api.Explain(err, "open merge request of branch %s", r.Branch)
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

// FindChange looks for the merge request that was made for a request before.
func (c *Client) FindChange(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, bool, error) {
	if err := wire.CheckRequest(r); err != nil {
		return forge.PullRequest{}, false, err
	}
	return c.findChange(ctx, r)
}

// findChange looks through our merge requests of the branch. One that is closed and overlooked
// would be made a second time, so none may be.
func (c *Client) findChange(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return forge.PullRequest{}, false, err
	}
	query := url.Values{"state": {"all"}, "scope": {"all"}, "source_branch": {r.Branch}, "target_branch": {r.Base}}
	found, err := wire.List[mergeRequest](ctx, c.api, "merge_requests", query)
	if err != nil {
		return forge.PullRequest{}, false, c.api.Explain(err, "look for merge requests of branch %s", r.Branch)
	}
	for i := range found {
		one := found[i].pullRequest()
		if one.Head.Ref != r.Branch || one.Base.Ref != r.Base || one.Head.RepositoryID != one.Base.RepositoryID || !one.Author.Same(self) {
			continue
		}
		same := r.ByBranch
		if !same {
			if same, err = c.holds(ctx, r, one.Head.SHA); err != nil {
				return forge.PullRequest{}, false, err
			}
		}
		if same {
			one.Written = c.branches.Written(r)
			return one, true, nil
		}
	}
	return forge.PullRequest{}, false, nil
}

// holds reports whether a commit has the requested content.
func (c *Client) holds(ctx context.Context, r forge.ChangeRequest, ref string) (bool, error) {
	blob, err := c.blobAt(ctx, r.Path, ref)
	return blob == forge.BlobSHA(r.Content), err
}

// MoveChange sets the branch of an open merge request again, on top of the tip that is given, if
// the commit that it was made on is no longer part of the tracked branch. Where merges have to
// follow on the tip, any other commit is a reason: GitLab would have people rebase it, and what
// they approve then is not our commit.
func (c *Client) MoveChange(ctx context.Context, r forge.ChangeRequest, madeOn string) (string, error) {
	if err := wire.CheckRequest(r); err != nil {
		return "", err
	}
	found, err := c.readProject(ctx, false)
	if err != nil {
		return "", err
	}
	if linear := found.MergeMethod == "ff" || found.MergeMethod == "rebase_merge"; !linear || madeOn == r.Tip {
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
	}
	made, err := c.push(ctx, r)
	if err != nil {
		return "", err
	}
	return made.Commit, nil
}

// UpdateApproval gives an open merge request another title and body, if it has not got them.
func (c *Client) UpdateApproval(ctx context.Context, number int, title, body string) (forge.PullRequest, error) {
	known, err := c.PullRequest(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	return c.refresh(ctx, known, title, body)
}

// refresh leaves a merge request that is closed as it is.
func (c *Client) refresh(ctx context.Context, known forge.PullRequest, title, body string) (forge.PullRequest, error) {
	body = text(body)
	if known.State != forge.PullOpen || known.Title == title && wire.SameText(known.Body, body) {
		return known, nil
	}
	var changed mergeRequest
	sent := map[string]string{"title": title, "description": body}
	if err := c.api.Send(ctx, http.MethodPut, at("merge_requests/%s", known.Number), sent, &changed); err != nil {
		return forge.PullRequest{}, c.api.Explain(err, "update merge request !%d", known.Number)
	}
	updated := changed.pullRequest()
	updated.Written = known.Written
	return updated, nil
}

// CloseApproval says why in a comment and closes the merge request of a branch. One that is closed,
// or whose number is that of another branch, is left as it is.
func (c *Client) CloseApproval(ctx context.Context, number int, branch, comment string) error {
	known, err := c.PullRequest(ctx, number)
	if err != nil || known.State != forge.PullOpen || known.Head.Ref != branch {
		return err
	}
	// The comment comes first: after a crash in between, the merge request that is still open
	// brings us here again, and the comment is not made twice.
	if err := c.Comment(ctx, number, comment); err != nil {
		return err
	}
	err = c.api.Send(ctx, http.MethodPut, at("merge_requests/%s", number), map[string]string{"state_event": "close"}, nil)
	return c.api.Explain(err, "close merge request !%d", number)
}

// Comment says something below a merge request, unless we have said the same there before.
func (c *Client) Comment(ctx context.Context, number int, said string) error {
	self, err := c.Self(ctx)
	if err != nil {
		return err
	}
	said = text(said)
	notes := at("merge_requests/%s/notes", number)
	before, err := wire.List[note](ctx, c.api, notes, url.Values{"activity_filter": {"only_comments"}})
	if err != nil {
		return c.api.Explain(err, "read comments of merge request !%d", number)
	}
	for _, one := range before {
		if !one.System && one.Author.account().Same(self) && wire.SameText(one.Body, said) {
			return nil
		}
	}
	err = c.api.Send(ctx, http.MethodPost, notes, map[string]string{"body": said}, nil)
	return c.api.Explain(err, "comment on merge request !%d", number)
}

// DeleteBranch removes the branch of an approval, if it is there. No other branch is removed.
func (c *Client) DeleteBranch(ctx context.Context, name string) error {
	if err := wire.CheckOwnBranch(name); err != nil {
		return err
	}
	return c.api.Explain(c.branches.Remove(ctx, name), "delete branch %s", name)
}
