package github

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/bygit"
)

// newBranches returns the repository as Git reaches it.
func (c *Client) newBranches(git forge.Git) *bygit.Branches {
	return bygit.New(bygit.Options{Git: git, Now: c.now, Author: c.author, Remote: func(ctx context.Context) (forge.Remote, error) {
		token, err := c.credentials.Token(ctx)
		at := forge.Remote{URL: c.cloneURL(), User: GitUser, Password: token, CABundle: c.trusted, Timeout: c.timeout}
		return at, c.explain(err, "get a token for Git")
	}})
}

// byGit does something over Git. It reports false if the API has to do it: Git can't be reached, or
// refuses what the API allows, as a rule does that commits must be signed.
func (c *Client) byGit(ctx context.Context, what func() error) (bool, error) {
	if c.branches.Off() {
		return false, nil
	}
	return what() == nil, ctx.Err()
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

// author returns our account as the author of a commit, by the address from which a forge knows the
// account.
func (c *Client) author(ctx context.Context, when time.Time) (forge.Signature, error) {
	self, err := c.Self(ctx)
	if when.IsZero() {
		when = c.now()
	}
	host := url.URL{Host: gitHost(c.api.BaseURL)}
	return forge.Signature{Name: self.Login, Address: fmt.Sprintf("%d+%s@users.noreply.%s", self.ID, self.Login, host.Hostname()), At: when}, err
}

// pushBranch makes the branch over Git, with its commit, which it returns. It returns nothing if
// the API has to, as for a branch that is there, which somebody else may have made.
func (c *Client) pushBranch(ctx context.Context, r forge.ChangeRequest) (string, error) {
	if c.branches.Off() {
		return "", nil
	}
	if _, err := c.Self(ctx); err != nil {
		return "", err
	}
	var made forge.MadeBranch
	pushed, err := c.byGit(ctx, func() (err error) {
		made, err = c.branches.Push(ctx, r, "")
		return err
	})
	if !pushed || made.Standing != "" {
		return "", err
	}
	return made.Commit, err
}
