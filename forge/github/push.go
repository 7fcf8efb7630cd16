package github

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/forge"
)

// withoutGit is how long branches are written with the API after Git has failed.
const withoutGit = 10 * time.Minute

// byGit does something over Git. It reports false if the API has to do it: Git can't be reached, or
// refuses what the API allows, as a rule does that commits must be signed. Then Git is left alone
// for a while.
func (c *Client) byGit(ctx context.Context, what func(forge.Remote) error) (bool, error) {
	if c.git == nil || c.gitFailed() {
		return false, nil
	}
	token, err := c.credentials.Token(ctx)
	if err != nil {
		return false, c.explain(err, "get a token for Git")
	}
	err = what(forge.Remote{URL: c.cloneURL(), User: GitUser, Password: token, CABundle: c.trusted, Timeout: c.timeout})
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case forge.KindOf(err) != forge.Conflict:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gitAgain = c.now().Add(withoutGit)
	}
	return false, nil
}

func (c *Client) gitFailed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().Before(c.gitAgain)
}

// cloneURL returns the address of the repository on the server whose API we use: the credentials go
// nowhere else, whatever the source's address is.
func (c *Client) cloneURL() string {
	at := url.URL{Scheme: c.api.BaseURL.Scheme, Host: gitHost(c.api.BaseURL)}
	return at.JoinPath(c.owner, c.name+".git").String()
}

// gitHost returns the host that has the repositories of an API. Only an API with a host of its own
// has another: a server of a company may well be called api.example.com.
func gitHost(api *url.URL) string {
	if strings.HasSuffix(api.Path, "/api/v3/") {
		return api.Host
	}
	return strings.TrimPrefix(api.Host, "api.")
}

// signature returns our account as the author of a commit, by the address from which a forge knows
// the account.
func (c *Client) signature(self forge.Account, when time.Time) forge.Signature {
	if when.IsZero() {
		when = c.now()
	}
	host := url.URL{Host: gitHost(c.api.BaseURL)}
	return forge.Signature{Name: self.Login, Address: fmt.Sprintf("%d+%s@users.noreply.%s", self.ID, self.Login, host.Hostname()), At: when}
}

// pushBranch makes the branch over Git, with its commit. It reports false if the API has to, as for
// a branch that is there, which somebody else may have made.
func (c *Client) pushBranch(ctx context.Context, r forge.ChangeRequest) (bool, error) {
	if c.git == nil {
		return false, nil
	}
	self, err := c.Self(ctx)
	if err != nil {
		return false, err
	}
	asked := forge.NewBranch{Change: r, Author: c.signature(self, r.At)}
	return c.byGit(ctx, func(at forge.Remote) error {
		made, err := c.git.Push(ctx, at, asked)
		if err != nil {
			return err
		}
		if made.Standing != "" {
			return &forge.Error{Kind: forge.Conflict, Message: "the branch is at " + made.Standing}
		}
		c.keepMade(r, made)
		return nil
	})
}

// madeByUs holds the facts of a commit that we made.
type madeByUs struct{ Parent, Tree, Path, Blob string }

func (c *Client) keepMade(r forge.ChangeRequest, made forge.MadeBranch) {
	keep := func(key string, fact any) { c.facts.Put(key, fact, int64(len(key)+len(r.Path)+factBytes)) }
	keep("made "+made.Commit, madeByUs{made.Parent, made.Tree, r.Path, forge.BlobSHA(r.Content)})
	keep("head "+r.Branch, made.Commit)
}

// factBytes is about what the names of some objects take.
const factBytes = 256

// removeBranch removes a branch over Git; it reports false if the API has to.
func (c *Client) removeBranch(ctx context.Context, name string) (bool, error) {
	head, _ := c.facts.Get("head " + name).(string)
	return c.byGit(ctx, func(at forge.Remote) error { return c.git.Remove(ctx, at, name, head) })
}

// readByGit reads by Git what the merge of a pull request changed. It reports false if that is for
// the API to say: only of a commit that we made, merged onto the commit that it was made on, names
// tell all. Objects have the names of their content, so that no forge can make them up. Who pushed
// to the branch, Git does not know.
func (c *Client) readByGit(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) (bool, error) {
	pull := into.PullRequest
	made, known := c.facts.Get("made " + pull.Head.SHA).(madeByUs)
	if !known || q.ReleaseCommit != "" || pull.MergeCommit != q.Tip {
		return false, nil
	}
	var head forge.Head
	read, err := c.byGit(ctx, func(at forge.Remote) (err error) {
		head, err = c.git.Head(ctx, at, q.Branch)
		return err
	})
	if !read || err != nil {
		return false, err
	}
	if head.Commit != q.Tip || len(head.Parents) == 0 || head.Parents[0] != made.Parent || head.Tree != made.Tree {
		return false, nil
	}
	into.OnTracked = true
	into.Files = []forge.ChangedFile{{Path: made.Path, Status: forge.FileModified, BlobSHA: made.Blob}}
	into.Result = forge.Result{Commit: forge.Commit{SHA: head.Commit, Parents: head.Parents}, Files: into.Files}
	return true, nil
}
