package devforge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// pull is a pull request from one branch of a repository to another.
type pull struct {
	id          int64
	number      int
	title, body string
	author      *account
	draft       bool
	// head and base are branches. The SHAs are their tips, or their tips at the time of closing.
	head, base       string
	headSHA, baseSHA string
	created, updated time.Time
	// closedAt is the zero time while it is open, mergedAt unless it is merged.
	closedAt, mergedAt time.Time
	closedBy, mergedBy *account
	// mergeCommit is the commit that brought the head into the base: a merge, the squashed commit,
	// the new tip of the base, or the pushed commit.
	mergeCommit string
	// mergedFrom is the base's tip before the forge merged; empty if a user pushed the merge.
	mergedFrom string
	reviews    []*review
	comments   []*comment
	reviewers  []*account
	teams      []*team
	trial      trial
}

// trial is the result of a trial merge of two tips.
type trial struct {
	base, head string
	// commit is empty if the merge has conflicts.
	commit string
}

func (p *pull) closed() bool { return !p.closedAt.IsZero() }
func (p *pull) merged() bool { return !p.mergedAt.IsZero() }

func (p *pull) state() string {
	if p.closed() {
		return "closed"
	}
	return "open"
}

func (p *pull) close(by *account, now time.Time) { p.closedBy, p.closedAt, p.updated = by, now, now }

func (p *pull) markMerged(commit string, by *account, now time.Time) {
	p.mergeCommit, p.mergedBy, p.mergedAt = commit, by, now
	p.close(by, now)
}

// ref returns what Git knows the pull request by: its head, and the trial merge.
func (p *pull) ref(what string) string { return fmt.Sprintf("refs/pull/%d/%s", p.number, what) }

func (r *repository) openPulls() int {
	count := 0
	for _, p := range r.pulls {
		if !p.closed() {
			count++
		}
	}
	return count
}

// tryMerge finds out whether an open pull request can be merged.
func (f *Forge) tryMerge(ctx context.Context, repo *repository, p *pull) error {
	if p.closed() || (p.trial.base == p.baseSHA && p.trial.head == p.headSHA) {
		return nil
	}
	tried := trial{base: p.baseSHA, head: p.headSHA}
	tree, err := repo.git.MergeTrees(ctx, p.baseSHA, p.headSHA)
	if errors.Is(err, gitcmd.ErrConflict) && ctx.Err() == nil {
		p.trial = tried
		return nil
	}
	if err != nil {
		return err
	}
	by := f.signatureOf(p.author)
	tried.commit, err = repo.git.Write(ctx, gitcmd.Commit{
		Tree: tree, Parents: []string{p.baseSHA, p.headSHA}, Author: by, Committer: by,
		Message: fmt.Sprintf("Merge %s into %s", p.headSHA, p.baseSHA),
	})
	if err != nil {
		return err
	}
	p.trial = tried
	return repo.git.SetRef(ctx, p.ref("merge"), tried.commit)
}

// pull returns a pull request as lists have it.
func (s shapes) pull(r *repository, p *pull) object {
	url, page := s.api("/repos/%s/pulls/%d", r.fullName(), p.number), s.html("/%s/pull/%d", r.fullName(), p.number)
	issue, statuses := s.api("/repos/%s/issues/%d", r.fullName(), p.number), s.api("/repos/%s/statuses/%s", r.fullName(), p.headSHA)
	merge := p.mergeCommit
	if merge == "" {
		merge = p.trial.commit
	}
	return object{
		"id": p.id, "node_id": nodeID("PR", p.id), "number": p.number, "state": p.state(), "locked": false, "title": p.title,
		"body": textOrNull(p.body), "user": s.account(p.author), "draft": p.draft, "url": url, "html_url": page,
		"diff_url": page + ".diff", "patch_url": page + ".patch", "issue_url": issue, "commits_url": url + "/commits",
		"review_comments_url": url + "/comments", "review_comment_url": s.api("/repos/%s/pulls/comments{/number}", r.fullName()),
		"comments_url": issue + "/comments", "statuses_url": statuses, "created_at": stamp(p.created), "updated_at": stamp(p.updated),
		"closed_at": stampOrNull(p.closedAt), "merged_at": stampOrNull(p.mergedAt), "merge_commit_sha": textOrNull(merge),
		"assignee": nil, "assignees": []object{}, "labels": []object{}, "milestone": nil, "active_lock_reason": nil, "auto_merge": nil,
		"requested_reviewers": each(p.reviewers, s.account), "requested_teams": each(p.teams, s.team),
		"head": s.side(r, p.head, p.headSHA), "base": s.side(r, p.base, p.baseSHA), "author_association": s.association(r, p.author),
		"_links": object{
			"self": link(url), "html": link(page), "issue": link(issue), "comments": link(issue + "/comments"),
			"review_comments": link(url + "/comments"), "commits": link(url + "/commits"), "statuses": link(statuses),
			"review_comment": link(s.api("/repos/%s/pulls/comments{/number}", r.fullName())),
		},
	}
}

func link(href string) object { return object{"href": href} }

// side returns the head or the base of a pull request.
func (s shapes) side(r *repository, branch, sha string) object {
	return object{
		"label": r.owner.login + ":" + branch, "ref": branch, "sha": sha, "user": s.account(r.owner), "repo": s.repository(r),
	}
}

func (s shapes) team(t *team) object {
	url := s.api("/orgs/%s/teams/%s", t.organization, t.slug)
	return object{
		"id": t.id, "node_id": nodeID("T", t.id), "name": t.slug, "slug": t.slug, "description": nil, "privacy": "closed",
		"notification_setting": "notifications_enabled", "permission": "pull", "parent": nil, "type": "organization",
		"url": url, "html_url": s.html("/orgs/%s/teams/%s", t.organization, t.slug),
		"members_url": url + "/members{/member}", "repositories_url": url + "/repos",
	}
}

// association returns how an account belongs to a repository.
func (s shapes) association(r *repository, a *account) string {
	switch role := s.who.roleOf(a, r); {
	case a == r.owner:
		return "OWNER"
	case role >= RoleWrite:
		return "COLLABORATOR"
	}
	return "NONE"
}

// fullPull returns a pull request as a request by number gets it, and as events have it.
func (f *Forge) fullPull(ctx context.Context, repo *repository, p *pull) (object, error) {
	if err := f.tryMerge(ctx, repo, p); err != nil {
		return nil, err
	}
	changes, err := f.pullChanges(ctx, repo, p)
	if err != nil {
		return nil, err
	}
	commits, err := repo.git.Log(ctx, p.commitRange())
	if err != nil {
		return nil, err
	}
	additions, deletions := countLines(changes)
	shape := f.shape.pull(repo, p)
	maps.Copy(shape, object{
		"merged": p.merged(), "merged_by": f.shape.user(p.mergedBy), "comments": len(p.comments), "review_comments": 0,
		"commits": len(commits), "additions": additions, "deletions": deletions, "changed_files": len(changes),
		"maintainer_can_modify": false, "rebaseable": nil, "mergeable": nil, "mergeable_state": "unknown",
	})
	if !p.closed() {
		shape["mergeable"], shape["mergeable_state"] = p.trial.commit != "", "clean"
		if p.trial.commit == "" {
			shape["mergeable_state"] = "dirty"
		}
	}
	return shape, nil
}

// commitRange returns the commits of the head that the base has not, or had not.
func (p *pull) commitRange() string { return p.baseSHA + ".." + p.headSHA }

// pullChanges returns the files that differ from where the head left the base.
func (f *Forge) pullChanges(ctx context.Context, repo *repository, p *pull) ([]gitcmd.Change, error) {
	start, err := repo.git.MergeBase(ctx, p.baseSHA, p.headSHA)
	if errors.Is(err, gitcmd.ErrNotFound) && ctx.Err() == nil {
		start, err = "", nil // the base was rewritten from its root on
	}
	if err != nil {
		return nil, err
	}
	return repo.git.Diff(ctx, start, p.headSHA)
}
