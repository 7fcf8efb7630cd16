package devforge

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// namedCommit returns the object name of the commit that the path names by SHA, branch or tag.
func (c *call) namedCommit() (string, error) {
	ref := c.req.PathValue("ref")
	sha, err := c.repo.git.Resolve(c.ctx, ref)
	if err != nil {
		return "", refuse(http.StatusUnprocessableEntity, "No commit found for SHA: "+ref)
	}
	return sha, nil
}

func (c *call) getCommit() (answer, error) {
	sha, err := c.namedCommit()
	if err != nil {
		return answer{}, err
	}
	commit, changes, err := c.repo.change(c.ctx, sha)
	if err != nil {
		return answer{}, err
	}
	return ok(c.forge.shape.commitWithFiles(c.repo, commit, changes))
}

// listCommits returns the history of a branch, or of a path of it.
func (c *call) listCommits() (answer, error) {
	start := c.query("sha")
	if start == "" {
		start = c.repo.defaultBranch
	}
	sha, err := c.repo.git.Resolve(c.ctx, start)
	if err != nil {
		return answer{}, err
	}
	args := []string{sha, "--"}
	if path := c.query("path"); path != "" {
		args = append(args, ":(literal)"+path)
	}
	commits, err := c.repo.git.Log(c.ctx, args...)
	if err != nil {
		return answer{}, err
	}
	if author := c.query("author"); author != "" {
		commits = slices.DeleteFunc(commits, func(made gitcmd.Commit) bool { return !c.authored(made, author) })
	}
	return ok(each(pageOf(c, commits), c.commit))
}

// authored reports whether somebody, by a login or an address, is the author of a commit.
func (c *call) authored(commit gitcmd.Commit, who string) bool {
	account := c.forge.who.author(commit.Author.Email)
	return strings.EqualFold(commit.Author.Email, who) || account != nil && strings.EqualFold(account.login, who)
}

func (c *call) commit(commit gitcmd.Commit) object { return c.forge.shape.commit(c.repo, commit) }

// comparison is how two commits stand to one another.
type comparison struct {
	base, head, mergeBase string
	ahead, behind         []gitcmd.Commit
}

func (c *call) compareCommits(basehead string) (comparison, error) {
	base, head, ok := strings.Cut(basehead, "...")
	if !ok {
		return comparison{}, errNotFound
	}
	var found comparison
	var err error
	if found.base, err = c.repo.git.Resolve(c.ctx, withoutOwner(base)); err != nil {
		return found, err
	}
	if found.head, err = c.repo.git.Resolve(c.ctx, withoutOwner(head)); err != nil {
		return found, err
	}
	if found.mergeBase, err = c.repo.git.MergeBase(c.ctx, found.base, found.head); err != nil {
		return found, err
	}
	if found.ahead, err = c.repo.git.Log(c.ctx, found.base+".."+found.head); err != nil {
		return found, err
	}
	slices.Reverse(found.ahead)
	found.behind, err = c.repo.git.Log(c.ctx, found.head+".."+found.base)
	return found, err
}

// withoutOwner takes "owner:branch" for the branch: there are no forks.
func withoutOwner(name string) string {
	if _, branch, ok := strings.Cut(name, ":"); ok {
		return branch
	}
	return name
}

func (c comparison) status() string {
	switch {
	case len(c.ahead) > 0 && len(c.behind) > 0:
		return "diverged"
	case len(c.ahead) > 0:
		return "ahead"
	case len(c.behind) > 0:
		return "behind"
	}
	return "identical"
}

func (c *call) compare() (answer, error) {
	basehead := c.req.PathValue("basehead")
	found, err := c.compareCommits(basehead)
	if err != nil {
		return answer{}, err
	}
	base, err := c.repo.git.Commit(found.base)
	if err != nil {
		return answer{}, err
	}
	mergeBase, err := c.repo.git.Commit(found.mergeBase)
	if err != nil {
		return answer{}, err
	}
	changes, err := c.repo.git.Diff(c.ctx, found.mergeBase, found.head)
	if err != nil {
		return answer{}, err
	}
	s, repo := c.forge.shape, c.repo.fullName()
	page := s.html("/%s/compare/%s", repo, basehead)
	shape := object{
		"url": s.api("/repos/%s/compare/%s", repo, basehead), "html_url": page, "permalink_url": page, "diff_url": page + ".diff",
		"patch_url": page + ".patch", "base_commit": c.commit(base), "merge_base_commit": c.commit(mergeBase),
		"status": found.status(), "ahead_by": len(found.ahead), "behind_by": len(found.behind),
		"total_commits": len(found.ahead), "commits": each(pageOf(c, found.ahead), c.commit),
	}
	// Like GitHub: the files come with the first page only, 300 at most.
	if page := c.query("page"); page == "" || page == strconv.Itoa(1) {
		shape["files"] = s.changes(c.repo, found.head, changes[:min(len(changes), 300)])
	}
	return ok(shape)
}

// listPullsOfCommit lists the merged pull request that brought a commit into the default branch,
// or else the open ones that hold it.
func (c *call) listPullsOfCommit() (answer, error) {
	sha, err := c.repo.git.Resolve(c.ctx, c.req.PathValue("commit_sha"))
	if err != nil {
		return answer{}, refuse(http.StatusUnprocessableEntity, fmt.Sprintf("No commit found for SHA: %s", c.req.PathValue("commit_sha")))
	}
	var holding []*pull
	for _, p := range c.repo.pulls {
		if c.holds(p, sha) {
			holding = append(holding, p)
		}
	}
	slices.Reverse(holding)
	return ok(each(pageOf(c, holding), func(p *pull) object { return c.forge.shape.pull(c.repo, p) }))
}

// holds reports whether a pull request brought, or would bring, a commit into its base.
func (c *call) holds(p *pull, sha string) bool {
	if p.mergeCommit == sha {
		return true
	}
	if p.closed() && !p.merged() {
		return false
	}
	start, end := p.baseSHA, p.headSHA
	if p.mergeCommit != "" {
		end = p.mergeCommit
	}
	reached := c.repo.git.IsAncestor(sha, end) || c.repo.git.IsAncestor(sha, p.headSHA)
	return reached && !c.repo.git.IsAncestor(sha, start)
}
