package gitea

import (
	"context"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// PullRequest reads one pull request.
func (c *Client) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	var found pull
	err := c.api.Get(ctx, at("pulls/%s", number), nil, &found)
	if err == nil && found.Number != number {
		err = wire.Distrusted("the answer is about another one")
	}
	return found.pullRequest(), c.api.Explain(err, "read pull request #%d", number)
}

// ReadApproval gathers what an approval is judged by. Before the merge that is the pull request
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
	if a.PullRequest, err = c.PullRequest(ctx, q.Number); err != nil {
		return forge.Approval{}, err
	}
	if a.PullRequest.Base.RepositoryID != a.Repository.ID { // it was made again under its name
		if a.Repository, err = c.readRepository(ctx); err != nil {
			return forge.Approval{}, err
		}
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
		c.readReviews, c.readCommits, c.readApprovers, c.readRelease,
	}
	if !a.Alone {
		steps = append([]func(context.Context, forge.ApprovalQuery, *forge.Approval) error{c.readChange, c.readResult}, steps...)
	}
	for _, step := range steps {
		if err := step(ctx, q, &a); err != nil {
			return forge.Approval{}, err
		}
	}
	return a, nil
}

// readClosing reads who closed the pull request, and whose closing counts.
func (c *Client) readClosing(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	type event struct {
		Type string `json:"type"`
		User *user  `json:"user"`
	}
	events, err := wire.List[event](ctx, c.api, at("issues/%s/timeline", q.Number), nil)
	if err != nil {
		return c.api.Explain(err, "read who closed pull request #%d", q.Number)
	}
	for _, one := range events {
		switch one.Type {
		case "close":
			into.PullRequest.ClosedBy = one.User.account()
		case "reopen":
			into.PullRequest.ClosedBy = forge.Account{}
		}
	}
	return c.readApprovers(ctx, q, into)
}

// readChange reads which files the pull request touches. Gitea gives no name of their contents: one
// that is put is read where the pull request ends.
func (c *Client) readChange(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	files, err := wire.List[file](ctx, c.api, at("pulls/%s/files", q.Number), nil)
	if err != nil {
		return c.api.Explain(err, "read files of pull request #%d", q.Number)
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
	// The log names everybody who pushed since the stable commit only if it goes back to the push that
	// brought it.
	into.Pushes, into.PushesTold, into.PushesCut = moved.pushes, true, !moved.whole && !enough(moved.pushes)
	if err != nil {
		return err
	}
	// Git has seen the branch at the tip, so that some push has ended there.
	if !slices.ContainsFunc(into.Pushes, func(p forge.Push) bool { return p.After == q.Tip }) {
		return c.api.Explain(wire.Distrusted("the push that ended at %s is not listed yet", q.Tip), "read who pushed to branch %s", q.Branch)
	}
	return nil
}

// result reads a commit with its files, which Gitea lists all.
func (c *Client) result(ctx context.Context, sha string) (forge.Result, error) {
	return wire.Remembered(c.facts, "result "+sha, wire.Always, func() (forge.Result, error) {
		found, err := c.readCommit(ctx, sha)
		return forge.Result{Commit: found.commit(), Files: wire.Convert(found.Files, (*file).changed)}, err
	})
}

func (c *Client) readCommit(ctx context.Context, sha string) (commit, error) {
	if err := wire.CheckSHA(sha); err != nil {
		return commit{}, err
	}
	var found commit
	err := c.api.Get(ctx, at("git/commits/%s", sha), url.Values{"stat": {"false"}}, &found)
	if err == nil && found.SHA != sha {
		err = wire.Distrusted("the answer is about another one")
	}
	return found, c.api.Explain(err, "read commit %s", sha)
}

// comparison lists the commits that one commit has and another has not, oldest last.
type comparison struct {
	Total   int      `json:"total_commits"`
	Commits []commit `json:"commits"`
}

func (c *Client) compare(ctx context.Context, base, head string) (comparison, error) {
	for _, sha := range []string{base, head} {
		if err := wire.CheckSHA(sha); err != nil {
			return comparison{}, err
		}
	}
	var found comparison
	err := c.api.Get(ctx, at("compare/%s...%s", base, head), nil, &found)
	if err == nil && found.Total != len(found.Commits) {
		err = wire.Distrusted("the list has %d commits, and not the %d that it should have", len(found.Commits), found.Total)
	}
	return found, c.api.Explain(err, "compare %s with %s", base, head)
}

// isAncestor reports whether a commit is another, or one of its ancestors.
func (c *Client) isAncestor(ctx context.Context, sha, tip string) (bool, error) {
	if sha == tip {
		return true, nil
	}
	found, err := c.compare(ctx, tip, sha)
	return err == nil && found.Total == 0, err
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
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	err := c.api.Get(ctx, "contents/"+strings.Join(parts, "/"), url.Values{"ref": {ref}}, &found)
	if err == nil && found.Type != "file" {
		err = wire.Invalid("it is not a file")
	}
	return found, c.api.Explain(err, "read %s at %s", path, ref)
}

func (c *Client) readReviews(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	if !q.Reviews {
		return nil
	}
	reviews, err := wire.List[review](ctx, c.api, at("pulls/%s/reviews", q.Number), nil)
	into.Reviews = wire.Convert(reviews, (*review).review)
	return c.api.Explain(err, "read reviews of pull request #%d", q.Number)
}

func (c *Client) readCommits(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	if !q.Commits && (q.Written == "" || q.Written == into.PullRequest.Head.SHA) {
		return nil
	}
	var err error
	into.Commits, err = c.commitsOf(ctx, q.Number)
	return err
}

// commitsOf reads the commits of a pull request, oldest first.
func (c *Client) commitsOf(ctx context.Context, number int) ([]forge.Commit, error) {
	query := url.Values{"verification": {"true"}, "files": {"false"}}
	commits, err := wire.List[commit](ctx, c.api, at("pulls/%s/commits", number), query)
	if err == nil && len(commits) >= forge.MaxCommits {
		err = wire.Invalid("there are %d", len(commits))
	}
	if err != nil {
		return nil, c.api.Explain(err, "read commits of pull request #%d", number)
	}
	found := wire.Convert(commits, (*commit).commit)
	slices.Reverse(found)
	return found, nil
}

// readApprovers reads the accounts and teams that the policy names.
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

// team returns a team of an organization with everybody in it. The name is that of a team of the
// repository's owner, or organization/name.
func (c *Client) team(ctx context.Context, name string) (forge.Team, error) {
	bare, _, _ := forge.Numbered(name)
	organization, slug, qualified := strings.Cut(bare, "/")
	if !qualified {
		organization, slug = c.owner, bare
	}
	if !ownerName.MatchString(organization) || !ownerName.MatchString(slug) {
		return forge.Team{}, wire.Invalid("%q is not the name of a team", name)
	}
	type team struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	teams, err := wire.List[team](ctx, c.api, c.root("orgs/%s/teams", organization), nil)
	if err != nil {
		return forge.Team{}, c.api.Explain(err, "read team %s/%s", organization, slug)
	}
	i := slices.IndexFunc(teams, func(t team) bool { return strings.EqualFold(t.Name, slug) })
	if i < 0 {
		return forge.Team{}, &forge.Error{Kind: forge.NotFound, Message: "there is no team " + organization + "/" + slug}
	}
	members, err := wire.List[user](ctx, c.api, c.root("teams/%s/members", teams[i].ID), nil)
	found := forge.Team{ID: teams[i].ID, Organization: organization, Slug: slug, Members: wire.Convert(members, (*user).account)}
	return found, c.api.Explain(err, "read members of team %s/%s", organization, slug)
}
