package devlab

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

var errNotMergeable = refusal{http.StatusMethodNotAllowed, "405 Method Not Allowed"}

// signature returns who commits as a user.
func (c *call) signature(u *user) gitcmd.Signature {
	return gitcmd.Signature{Name: u.username, Email: u.email, When: c.now()}
}

// acceptMerge merges as the project is set up to.
func (c *call) acceptMerge() (any, error) {
	m, p := c.merge, c.project
	onto := p.head(m.target)
	switch sha := c.text("sha"); {
	case m.state != "opened" || onto == "":
		return nil, errNotMergeable
	case sha != "" && sha != m.head():
		return nil, refusal{http.StatusConflict, "SHA does not match HEAD of source branch: " + m.head()}
	case p.method != MergeCommit && !p.git.IsAncestor(onto, m.head()):
		return nil, errNotMergeable
	}
	source, squashed := m.head(), ""
	if squash, _ := c.body["squash"].(bool); squash {
		made, err := c.squash(onto)
		if err != nil {
			return nil, err
		}
		source, squashed = made, made
	}
	result, merged := source, ""
	if p.method != FastForward {
		made, err := c.mergeCommit(onto, source)
		if err != nil {
			return nil, err
		}
		result, merged = made, made
	}
	if err := p.git.UpdateRef(c.ctx, "refs/heads/"+m.target, result, onto); err != nil {
		return nil, err
	}
	m.state, m.mergeUser, m.mergedAt, m.mergeCommit, m.squashCommit = "merged", c.by, c.now(), merged, squashed
	return c.wholeMerge(m), c.pushed(c.ctx, p, c.by, "refs/heads/"+m.target)
}

// squash makes one commit of all, on top of where the branch began, or of the target where the
// merge is a fast-forward.
func (c *call) squash(onto string) (string, error) {
	base := c.merge.base()
	if c.project.method == FastForward {
		base = onto
	}
	head, err := c.project.git.Commit(c.merge.head())
	if err != nil {
		return "", err
	}
	return c.project.git.Write(c.ctx, gitcmd.Commit{
		Tree: head.Tree, Parents: []string{base}, Author: c.signature(c.merge.author), Committer: c.signature(c.by), Message: c.merge.title + "\n",
	})
}

func (c *call) mergeCommit(onto, source string) (string, error) {
	tree, err := c.project.git.MergeTrees(c.ctx, onto, source)
	if errors.Is(err, gitcmd.ErrConflict) {
		return "", errNotMergeable
	}
	if err != nil {
		return "", err
	}
	who := c.signature(c.by)
	return c.project.git.Write(c.ctx, gitcmd.Commit{
		Tree: tree, Parents: []string{onto, source}, Author: who, Committer: who,
		Message: fmt.Sprintf("Merge branch '%s' into '%s'\n\n%s\n\nSee merge request %s!%d\n", c.merge.source, c.merge.target, c.merge.title, c.project.path, c.merge.iid),
	})
}

// rebaseMerge rebases the branch, as its button does: the commits are others after that.
func (c *call) rebaseMerge() (any, error) {
	m := c.merge
	tip, err := m.from.git.Rebase(c.ctx, c.project.head(m.target), m.head(), c.signature(c.by))
	if err != nil {
		return nil, err
	}
	if err := m.from.git.SetRef(c.ctx, "refs/heads/"+m.source, tip); err != nil {
		return nil, err
	}
	return object{"rebase_in_progress": true}, c.pushed(c.ctx, m.from, c.by, "refs/heads/"+m.source)
}
