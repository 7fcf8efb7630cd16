package devforge

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

func (c *call) isMerged() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	if !p.merged() {
		return answer{}, errNotFound
	}
	return noContent()
}

type mergeRequest struct {
	Title   string  `json:"commit_title"`
	Message *string `json:"commit_message"`
	SHA     string  `json:"sha"`
	Method  string  `json:"merge_method"`
}

func (c *call) mergePull() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	in, err := decode[mergeRequest](c)
	if err != nil {
		return answer{}, err
	}
	if in.SHA != "" && in.SHA != p.headSHA {
		return answer{}, refuse(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	}
	if err := c.merge(p, in); err != nil {
		return answer{}, err
	}
	return ok(object{"sha": p.mergeCommit, "merged": true, "message": "Pull Request successfully merged"})
}

// merge brings the head into the base by the method asked for.
func (c *call) merge(p *pull, in mergeRequest) error {
	if err := c.forge.tryMerge(c.ctx, c.repo, p); err != nil {
		return err
	}
	if p.closed() || p.trial.commit == "" || p.draft {
		return refuse(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	tip, err := c.mergedTip(p, in)
	if errors.Is(err, gitcmd.ErrConflict) {
		return refuse(http.StatusMethodNotAllowed, "This branch can't be rebased")
	}
	if err != nil {
		return err
	}
	if err := c.repo.git.UpdateRef(c.ctx, branchPrefix+p.base, tip, p.baseSHA); err != nil {
		return refuse(http.StatusConflict, "Base branch was modified. Review and try the merge again.")
	}
	p.mergedFrom = p.baseSHA
	p.markMerged(tip, c.by.account, c.forge.now())
	if err := c.forge.sync(c.ctx, c.repo, c.by.account, branchPrefix+p.base); err != nil {
		return err
	}
	if err := c.forge.emitPull(c.ctx, c.repo, c.by.account, pullEvent{pull: p, action: "closed"}); err != nil {
		return err
	}
	return c.tidyHead(p)
}

// updatePullBranch merges the base into the head, as the button "Update branch" does. GitHub does
// so a moment later.
func (c *call) updatePullBranch() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	in, err := decode[struct {
		Head string `json:"expected_head_sha"`
	}](c)
	if err != nil {
		return answer{}, err
	}
	if err := c.forge.tryMerge(c.ctx, c.repo, p); err != nil {
		return answer{}, err
	}
	behind := !c.repo.git.IsAncestor(p.baseSHA, p.headSHA)
	if p.closed() || p.trial.commit == "" || !behind || in.Head != "" && in.Head != p.headSHA {
		return answer{}, refuse(http.StatusUnprocessableEntity, "There are no new commits on the base branch, or they can't be merged.")
	}
	made, err := c.joined(p, gitcmd.Commit{
		Parents: []string{p.headSHA, p.baseSHA}, Author: c.ownSignature(), Committer: c.ownSignature(),
		Message: fmt.Sprintf("Merge branch '%s' into %s", p.base, p.head),
	})
	if err != nil {
		return answer{}, err
	}
	if err := c.moveRef(branchPrefix+p.head, made, p.headSHA); err != nil {
		return answer{}, err
	}
	url := c.forge.shape.api("/repos/%s/pulls/%d", c.repo.fullName(), p.number)
	return answer{http.StatusAccepted, object{"message": "Updating pull request branch.", "url": url}}, nil
}

// tidyHead removes the branch of a pull request that is merged, where the repository asks for that.
func (c *call) tidyHead(p *pull) error {
	ref := branchPrefix + p.head
	sha, found := c.repo.refs[ref]
	if !c.repo.tidy.Load() || !found || p.head == c.repo.defaultBranch {
		return nil
	}
	return c.moveRef(ref, gitcmd.Zero, sha)
}

// mergedTip returns what the base moves to.
func (c *call) mergedTip(p *pull, in mergeRequest) (string, error) {
	merger := c.ownSignature()
	switch in.Method {
	case "", "merge":
		return c.joined(p, gitcmd.Commit{
			Parents: []string{p.baseSHA, p.headSHA}, Author: merger, Committer: merger,
			Message: in.text(fmt.Sprintf("Merge pull request #%d from %s/%s", p.number, c.repo.owner.login, p.head), p.title),
		})
	case "squash":
		commits, err := c.repo.git.Log(c.ctx, "--reverse", p.commitRange())
		if err != nil {
			return "", err
		}
		title, message := squashText(p, commits)
		return c.joined(p, gitcmd.Commit{
			Parents: []string{p.baseSHA}, Author: c.forge.signatureOf(p.author), Committer: merger, Message: in.text(title, message),
		})
	case "rebase":
		return c.repo.git.Rebase(c.ctx, p.baseSHA, p.headSHA, merger)
	}
	return "", invalid("PullRequest", "merge_method", "invalid", "merge_method is not merge, squash or rebase")
}

// joined stores a commit of the tree that the trial merge had.
func (c *call) joined(p *pull, commit gitcmd.Commit) (string, error) {
	merged, err := c.repo.git.Commit(p.trial.commit)
	if err != nil {
		return "", err
	}
	commit.Tree = merged.Tree
	return c.repo.git.Write(c.ctx, commit)
}

// text returns the message of the commit: the requested one, or else the usual.
func (m mergeRequest) text(title, message string) string {
	if m.Title != "" {
		title = m.Title
	}
	if m.Message != nil {
		message = *m.Message
	}
	return strings.TrimSpace(title + "\n\n" + message)
}

// squashText returns the title and the message that GitHub proposes for a squashed commit.
func squashText(p *pull, commits []gitcmd.Commit) (title, message string) {
	if len(commits) == 1 {
		subject, rest, _ := strings.Cut(commits[0].Message, "\n")
		return fmt.Sprintf("%s (#%d)", subject, p.number), strings.TrimSpace(rest)
	}
	var lines []string
	for _, commit := range commits {
		lines = append(lines, "* "+commit.Message)
	}
	return fmt.Sprintf("%s (#%d)", p.title, p.number), strings.Join(lines, "\n\n")
}
