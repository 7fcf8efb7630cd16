package gitlab

import (
	"context"
	"encoding/base64"
	"net/url"
	"slices"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// PullRequest reads one merge request.
func (c *Client) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	found, err := c.mergeRequest(ctx, number)
	return found.pullRequest(), err
}

func (c *Client) mergeRequest(ctx context.Context, number int) (mergeRequest, error) {
	var found mergeRequest
	err := c.api.Get(ctx, at("merge_requests/%s", number), nil, &found)
	if err == nil && found.Number != number {
		err = wire.Distrusted("the answer is about another one")
	}
	return found, c.api.Explain(err, "read merge request !%d", number)
}

// ReadApproval gathers what an approval is judged by. Before the merge that is the merge request
// alone. After the merge there are those for what the query asks for, and, unless Git shows what
// was merged, those for the file, the merge and who moved the branch.
func (c *Client) ReadApproval(ctx context.Context, q forge.ApprovalQuery) (forge.Approval, error) {
	a := forge.Approval{}
	ctx = wire.WithAllowance(ctx)
	var err error
	if a.Repository, err = c.Repository(ctx); err != nil {
		return forge.Approval{}, err
	}
	if a.Self, err = c.Self(ctx); err != nil {
		return forge.Approval{}, err
	}
	found, err := c.mergeRequest(ctx, q.Number)
	if err != nil {
		return forge.Approval{}, err
	}
	a.PullRequest = found.pullRequest()
	if a.PullRequest.Base.RepositoryID != a.Repository.ID { // it was made again under its name
		again, err := c.readProject(ctx, true)
		if err != nil {
			return forge.Approval{}, err
		}
		a.Repository = again.repository()
	}
	switch {
	case a.PullRequest.Rejected():
		return a, c.readClosing(ctx, q, &a)
	case !a.PullRequest.Merged:
		return a, nil
	}
	if a.Alone, err = c.branches.ReadMerge(ctx, q, &a); err != nil {
		return forge.Approval{}, err
	}
	steps := []func(context.Context, forge.ApprovalQuery, *forge.Approval) error{
		c.readMerger, c.readReviews, c.readCommits(&found), c.readApprovers, c.readRelease,
	}
	if !a.Alone {
		steps = slices.Insert(steps, 0, c.readChange, c.readResult)
	}
	for _, step := range steps {
		if err := step(ctx, q, &a); err != nil {
			return forge.Approval{}, err
		}
	}
	return a, nil
}

// readClosing reads whose closing counts.
func (c *Client) readClosing(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) (err error) {
	if into.PullRequest.ClosedBy, err = c.typed(ctx, into.PullRequest.ClosedBy); err != nil {
		return err
	}
	return c.readApprovers(ctx, q, into)
}

// readChange reads which files the merge request touches. GitLab gives no name of their contents:
// one that is put is read where the merge request ends.
func (c *Client) readChange(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	files, err := wire.List[file](ctx, c.api, at("merge_requests/%s/diffs", q.Number), nil)
	if err != nil {
		return c.api.Explain(err, "read files of merge request !%d", q.Number)
	}
	into.Files = wire.Convert(files, (*file).changed)
	if len(into.Files) != 1 || into.Files[0].Status == forge.FileRemoved {
		return nil
	}
	into.Files[0].BlobSHA, err = c.blobAt(ctx, into.Files[0].Path, into.PullRequest.Head.SHA)
	return err
}

// readResult reads what the merge did to the tracked branch, and who moved that.
func (c *Client) readResult(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	made := into.PullRequest.MergeCommit
	if made == "" {
		return nil
	}
	var err error
	if into.OnTracked, err = c.isAncestor(ctx, made, q.Tip); err != nil || !into.OnTracked {
		return err
	}
	if into.Result, err = c.result(ctx, made); err != nil {
		return err
	}
	enough := forge.Until(made, q.StableCommit)
	moved, err := c.moves(ctx, q.Branch, enough)
	if err != nil {
		return err
	}
	// The log names everybody who pushed since the stable commit only if it goes back to the push that
	// brought it.
	into.Pushes, into.PushesTold = moved.pushes, true
	into.PushesCut = moved.hidden || !moved.made && !moved.begun && !enough(moved.pushes)
	for i := range into.Pushes {
		if q.ReleaseCommit == "" && into.Pushes[i].After != made {
			continue
		}
		if err := c.markMerge(ctx, q.Branch, &into.Pushes[i]); err != nil {
			return err
		}
	}
	// Git has seen the branch at the tip, so that some push has ended there. Of one that moved many
	// branches GitLab does not tell which.
	listed := slices.ContainsFunc(into.Pushes, func(p forge.Push) bool { return p.After == q.Tip })
	if !listed && !moved.lumped {
		return c.api.Explain(wire.Distrusted("the push that ended at %s is not listed yet", q.Tip), "read who pushed to branch %s", q.Branch)
	}
	return nil
}

// result reads a commit with the files that it changes against its first parent.
func (c *Client) result(ctx context.Context, sha string) (forge.Result, error) {
	return wire.Remembered(c.facts, "result "+sha, wire.Always, func() (forge.Result, error) {
		if err := wire.CheckSHA(sha); err != nil {
			return forge.Result{}, err
		}
		var found commit
		err := c.api.Get(ctx, at("repository/commits/%s", sha), url.Values{"stats": {"false"}}, &found)
		if err == nil && found.SHA != sha {
			err = wire.Distrusted("the answer is about another one")
		}
		if err != nil {
			return forge.Result{}, c.api.Explain(err, "read commit %s", sha)
		}
		made, err := c.commits(ctx, []commit{found})
		if err != nil {
			return forge.Result{}, err
		}
		files, err := wire.List[file](ctx, c.api, at("repository/commits/%s/diff", sha), nil)
		return forge.Result{Commit: made[0], Files: wire.Convert(files, (*file).changed)}, c.api.Explain(err, "read files of commit %s", sha)
	})
}

// between lists the commits that one has and another has not, oldest first, and how many there are.
// Of more than MaxCommits it lists none.
func (c *Client) between(ctx context.Context, base, head string) (made []forge.Commit, total int, err error) {
	for _, sha := range []string{base, head} {
		if err := wire.CheckSHA(sha); err != nil {
			return nil, 0, err
		}
	}
	var found []commit
	query := url.Values{"ref_name": {base + ".." + head}}
	err = wire.Walk(ctx, c.api, "repository/commits", query, func(some []commit) bool {
		found = append(found, some...)
		return len(found) > forge.MaxCommits
	})
	if err != nil || len(found) > forge.MaxCommits {
		return nil, len(found), c.api.Explain(err, "list the commits from %s to %s", base, head)
	}
	slices.Reverse(found)
	made, err = c.commits(ctx, found)
	return made, len(found), err
}

// isAncestor reports whether a commit is another, or one of its ancestors.
func (c *Client) isAncestor(ctx context.Context, sha, tip string) (bool, error) {
	for _, one := range []string{sha, tip} {
		if err := wire.CheckSHA(one); err != nil {
			return false, err
		}
	}
	if sha == tip {
		return true, nil
	}
	var base commit
	err := c.api.Get(ctx, "repository/merge_base", url.Values{"refs[]": {sha, tip}}, &base)
	return base.SHA == sha, c.api.Explain(err, "compare %s with %s", sha, tip)
}

// Has reports whether a branch has a commit.
func (c *Client) Has(ctx context.Context, branch, sha string) (bool, error) {
	tip, err := c.Tip(ctx, branch)
	if err != nil {
		return false, err
	}
	found, err := c.isAncestor(ctx, sha, tip.Commit)
	if forge.KindOf(err) == forge.NotFound {
		return false, nil
	}
	return found, err
}

// Tip reads the last commit of a branch with its tree, by Git.
func (c *Client) Tip(ctx context.Context, branch string) (forge.Tip, error) {
	if err := wire.CheckBranch(branch); err != nil {
		return forge.Tip{}, err
	}
	head, err := c.branches.Head(ctx, branch)
	return head.Tip, c.api.Explain(err, "read branch %s", branch)
}

// ReadFile reads a file as it was at a commit.
func (c *Client) ReadFile(ctx context.Context, path, ref string) ([]byte, error) {
	found, err := c.contentAt(ctx, path, ref)
	if err != nil {
		return nil, err
	}
	decoded, err := base64.StdEncoding.DecodeString(found.Content)
	if err != nil || found.Encoding != "base64" || forge.BlobSHA(decoded) != found.SHA {
		return nil, wire.Invalid("the forge does not return all of %s", path)
	}
	return decoded, nil
}

func (c *Client) contentAt(ctx context.Context, path, ref string) (content, error) {
	if err := wire.CheckPath(path); err != nil {
		return content{}, err
	}
	var found content
	err := c.api.Get(ctx, at("repository/files/%s", path), url.Values{"ref": {ref}}, &found)
	return found, c.api.Explain(err, "read %s at %s", path, ref)
}

// blobAt returns the name of a file's content at a commit; empty if there is no such file.
func (c *Client) blobAt(ctx context.Context, path, ref string) (string, error) {
	found, err := c.contentAt(ctx, path, ref)
	if forge.KindOf(err) == forge.NotFound {
		return "", nil
	}
	return found.SHA, err
}

// readCommits reads the commits of the merge request, if they are asked for, or if its head is not
// the commit that we wrote.
func (c *Client) readCommits(found *mergeRequest) func(context.Context, forge.ApprovalQuery, *forge.Approval) error {
	return func(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) (err error) {
		if !q.Commits && (q.Written == "" || q.Written == into.PullRequest.Head.SHA) {
			return nil
		}
		into.Commits, err = c.commitsOf(ctx, found)
		return err
	}
}

// commitsOf reads the commits of a merge request, oldest first. GitLab's own list of them has no
// parents.
func (c *Client) commitsOf(ctx context.Context, of *mergeRequest) ([]forge.Commit, error) {
	if own, parent := c.branches.Made(of.SHA); own {
		self, err := c.Self(ctx)
		return []forge.Commit{{SHA: of.SHA, Parents: []string{parent}, Author: self, Committer: self}}, err
	}
	if of.DiffRefs == nil {
		return nil, c.api.Explain(wire.Distrusted("the answer does not tell where it begins"), "read merge request !%d", of.Number)
	}
	made, total, err := c.between(ctx, of.DiffRefs.Base, of.SHA)
	if err == nil && total > forge.MaxCommits {
		err = c.api.Explain(wire.Invalid("there are more than %d", forge.MaxCommits), "read commits of merge request !%d", of.Number)
	}
	return made, err
}

// readApprovers reads the accounts and groups that the policy names.
func (c *Client) readApprovers(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	var err error
	if into.Approvers, err = c.Accounts(ctx, q.Approvers...); err != nil {
		return err
	}
	if into.Trusted, err = c.Accounts(ctx, q.Trusted...); err != nil {
		return err
	}
	for _, name := range q.Teams {
		team, err := c.team(ctx, name)
		if err != nil {
			return err
		}
		into.Teams = append(into.Teams, team)
	}
	return nil
}
