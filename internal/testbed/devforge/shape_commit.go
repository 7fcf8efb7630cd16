package devforge

import (
	"maps"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// unverified is what GitHub says of a commit without a signature.
var unverified = object{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}

func person(s gitcmd.Signature) object {
	return object{"name": s.Name, "email": s.Email, "date": stamp(s.When)}
}

// commit returns a commit as the list of commits has it.
func (s shapes) commit(r *repository, c gitcmd.Commit) object {
	url := s.api("/repos/%s/commits/%s", r.fullName(), c.SHA)
	return object{
		"sha": c.SHA, "node_id": nodeID("C", c.SHA), "url": url, "comments_url": url + "/comments",
		"html_url": s.html("/%s/commit/%s", r.fullName(), c.SHA),
		"commit": object{
			"author": person(c.Author), "committer": person(c.Committer), "message": c.Message, "comment_count": 0,
			"tree": s.tree(r, c.Tree), "url": s.api("/repos/%s/git/commits/%s", r.fullName(), c.SHA), "verification": unverified,
		},
		"author": s.user(s.who.author(c.Author.Email)), "committer": s.user(s.who.author(c.Committer.Email)),
		"parents": s.parents(r, "commits", c),
	}
}

func (s shapes) tree(r *repository, sha string) object {
	return object{"sha": sha, "url": s.api("/repos/%s/git/trees/%s", r.fullName(), sha)}
}

func (s shapes) parents(r *repository, kind string, c gitcmd.Commit) []object {
	return each(c.Parents, func(sha string) object {
		return object{
			"sha": sha, "url": s.api("/repos/%s/%s/%s", r.fullName(), kind, sha),
			"html_url": s.html("/%s/commit/%s", r.fullName(), sha),
		}
	})
}

// commitWithFiles returns a commit as a request by name gets it.
func (s shapes) commitWithFiles(r *repository, c gitcmd.Commit, changes []gitcmd.Change) object {
	additions, deletions := countLines(changes)
	shape := s.commit(r, c)
	maps.Copy(shape, object{
		"stats": object{"additions": additions, "deletions": deletions, "total": additions + deletions},
		"files": s.changes(r, c.SHA, changes),
	})
	return shape
}

// gitCommit returns a commit as the Git data API has it.
func (s shapes) gitCommit(r *repository, c gitcmd.Commit) object {
	return object{
		"sha": c.SHA, "node_id": nodeID("C", c.SHA), "url": s.api("/repos/%s/git/commits/%s", r.fullName(), c.SHA),
		"html_url": s.html("/%s/commit/%s", r.fullName(), c.SHA),
		"author":   person(c.Author), "committer": person(c.Committer), "message": c.Message,
		"tree": s.tree(r, c.Tree), "parents": s.parents(r, "git/commits", c), "verification": unverified,
	}
}

// changes returns files that differ, as at the commit.
func (s shapes) changes(r *repository, sha string, changes []gitcmd.Change) []object {
	return each(changes, func(c gitcmd.Change) object {
		shape := object{
			"sha": c.SHA, "filename": c.Path, "status": c.Status, "additions": c.Additions, "deletions": c.Deletions,
			"changes": c.Additions + c.Deletions, "blob_url": s.html("/%s/blob/%s/%s", r.fullName(), sha, escapePath(c.Path)),
			"raw_url":      s.html("/%s/raw/%s/%s", r.fullName(), sha, escapePath(c.Path)),
			"contents_url": s.api("/repos/%s/contents/%s?ref=%s", r.fullName(), escapePath(c.Path), sha),
		}
		if c.Patch != "" {
			shape["patch"] = c.Patch
		}
		if c.Previous != "" {
			shape["previous_filename"] = c.Previous
		}
		return shape
	})
}

func countLines(changes []gitcmd.Change) (additions, deletions int) {
	for _, c := range changes {
		additions += c.Additions
		deletions += c.Deletions
	}
	return additions, deletions
}

// pushedCommit returns a commit as the payload of a push has it.
func (s shapes) pushedCommit(r *repository, c gitcmd.Commit, changes []gitcmd.Change) object {
	paths := map[string][]string{"added": {}, "removed": {}, "modified": {}}
	for _, change := range changes {
		switch change.Status {
		case "added", "removed":
			paths[change.Status] = append(paths[change.Status], change.Path)
		case "renamed":
			paths["removed"] = append(paths["removed"], change.Previous)
			paths["added"] = append(paths["added"], change.Path)
		default:
			paths["modified"] = append(paths["modified"], change.Path)
		}
	}
	return object{
		"id": c.SHA, "tree_id": c.Tree, "distinct": true, "message": c.Message, "timestamp": c.Committer.When.Format(time.RFC3339),
		"url": s.html("/%s/commit/%s", r.fullName(), c.SHA), "author": s.pusher(c.Author), "committer": s.pusher(c.Committer),
		"added": paths["added"], "removed": paths["removed"], "modified": paths["modified"],
	}
}

func (s shapes) pusher(by gitcmd.Signature) object {
	shape := object{"name": by.Name, "email": by.Email, "date": stamp(by.When)}
	if a := s.who.author(by.Email); a != nil {
		shape["username"] = a.login
	}
	return shape
}

// simpleCommit returns a commit as a check suite has it.
func simpleCommit(c gitcmd.Commit) object {
	return object{
		"id": c.SHA, "tree_id": c.Tree, "message": c.Message, "timestamp": stamp(c.Committer.When),
		"author":    object{"name": c.Author.Name, "email": c.Author.Email},
		"committer": object{"name": c.Committer.Name, "email": c.Committer.Email},
	}
}
