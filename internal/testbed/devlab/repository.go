package devlab

import (
	"encoding/base64"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

func commitShape(g gitcmd.Commit) object {
	parents := g.Parents
	if parents == nil {
		parents = []string{}
	}
	title, _, _ := strings.Cut(g.Message, "\n")
	return object{
		"id": g.SHA, "short_id": g.SHA[:8], "parent_ids": parents, "title": title, "message": g.Message,
		"author_name": g.Author.Name, "author_email": g.Author.Email, "authored_date": g.Author.When,
		"committer_name": g.Committer.Name, "committer_email": g.Committer.Email, "committed_date": g.Committer.When, "created_at": g.Committer.When,
	}
}

// listCommits lists those of a ref, or of a range of two, newest first.
func (c *call) listCommits() (any, error) {
	ref := c.query.Get("ref_name")
	if ref == "" {
		ref = c.project.branch
	}
	var args []string
	from, to, ranged := strings.Cut(ref, "..")
	if !ranged {
		from, to = "", from
	}
	for i, rev := range []string{to, from} {
		if rev == "" {
			continue
		}
		sha, err := c.project.git.Resolve(c.ctx, rev)
		if err != nil {
			return nil, err
		}
		args = append(args, []string{"", "^"}[i]+sha)
	}
	found, err := c.project.git.Log(c.ctx, args...)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, one := range found {
		list = append(list, commitShape(one))
	}
	return list, nil
}

func (c *call) resolved() (gitcmd.Commit, error) {
	sha, err := c.project.git.Resolve(c.ctx, c.args[0])
	if err != nil {
		return gitcmd.Commit{}, err
	}
	return c.project.git.Commit(sha)
}

func (c *call) getCommit() (any, error) {
	found, err := c.resolved()
	if err != nil {
		return nil, err
	}
	return commitShape(found), nil
}

// getDiff lists what a commit changes against its first parent.
func (c *call) getDiff() (any, error) {
	found, err := c.resolved()
	if err != nil {
		return nil, err
	}
	first := ""
	if len(found.Parents) > 0 {
		first = found.Parents[0]
	}
	return c.diff(first, found.SHA)
}

func (c *call) diff(from, to string) (any, error) {
	changes, err := c.project.git.Diff(c.ctx, from, to)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, change := range changes {
		previous := change.Previous
		if previous == "" {
			previous = change.Path
		}
		list = append(list, object{
			"old_path": previous, "new_path": change.Path, "diff": change.Patch, "new_file": change.Status == "added",
			"renamed_file": change.Status == "renamed", "deleted_file": change.Status == "removed",
		})
	}
	return list, nil
}

// listMergesOf lists the merge requests that have a commit, or whose merge made it.
func (c *call) listMergesOf() (any, error) {
	found, err := c.resolved()
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, m := range c.project.merges {
		inside := c.project.git.IsAncestor(found.SHA, m.head()) && !c.project.git.IsAncestor(found.SHA, m.base())
		if inside || m.mergeCommit == found.SHA || m.squashCommit == found.SHA {
			list = append(list, c.shape(m))
		}
	}
	return list, nil
}

func (c *call) compare() (any, error) {
	from, err := c.project.git.Resolve(c.ctx, c.query.Get("from"))
	if err != nil {
		return nil, err
	}
	to, err := c.project.git.Resolve(c.ctx, c.query.Get("to"))
	if err != nil {
		return nil, err
	}
	commits, err := c.project.git.Log(c.ctx, "--reverse", from+".."+to)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, one := range commits {
		list = append(list, commitShape(one))
	}
	if c.query.Get("straight") != "true" {
		if from, err = c.project.git.MergeBase(c.ctx, from, to); err != nil {
			return nil, err
		}
	}
	files, err := c.diff(from, to)
	return object{"commits": list, "diffs": files, "compare_timeout": false, "compare_same_ref": from == to}, err
}

func (c *call) mergeBase() (any, error) {
	refs := c.query["refs[]"]
	if len(refs) != 2 {
		return nil, badRequest("refs is missing")
	}
	for i := range refs {
		sha, err := c.project.git.Resolve(c.ctx, refs[i])
		if err != nil {
			return nil, badRequest("Could not find ref: %s", refs[i])
		}
		refs[i] = sha
	}
	base, err := c.project.git.MergeBase(c.ctx, refs[0], refs[1])
	if err != nil {
		return nil, err
	}
	found, err := c.project.git.Commit(base)
	return commitShape(found), err
}

func (c *call) getBranch() (any, error) {
	head := c.project.head(c.args[0])
	if head == "" {
		return nil, errNotFound
	}
	found, err := c.project.git.Commit(head)
	if err != nil {
		return nil, err
	}
	return object{
		"name": c.args[0], "commit": commitShape(found), "protected": false, "developers_can_push": false, "developers_can_merge": false,
		"can_push": c.project.level(c.by) >= Developer,
	}, nil
}

func (c *call) getFile() (any, error) {
	sha, err := c.project.git.Resolve(c.ctx, c.query.Get("ref"))
	if err != nil {
		return nil, err
	}
	entry, err := c.project.git.Entry(sha, c.args[0])
	if err != nil || entry.Type != "blob" {
		return nil, refusal{404, "404 File Not Found"}
	}
	content, err := c.project.git.ReadBlob(entry.SHA)
	return object{
		"file_path": c.args[0], "size": len(content), "encoding": "base64", "content": base64.StdEncoding.EncodeToString(content),
		"blob_id": entry.SHA, "commit_id": sha, "ref": c.query.Get("ref"),
	}, err
}
