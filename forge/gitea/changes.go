package gitea

import (
	"context"
	"net/http"
	"net/url"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/proposals"
	"github.com/sluice-dev/sluice/forge/wire"
)

// edits changes pull requests.
type edits struct{ *Client }

// Create opens the pull request of a request.
func (c edits) Create(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, error) {
	var made pull
	err := c.api.Send(ctx, http.MethodPost, "pulls", map[string]string{"title": r.Title, "body": r.Body, "head": r.Branch, "base": r.Base}, &made)
	if err == nil && made.Number == 0 {
		err = wire.Distrusted("the answer has no number")
	}
	return made.pullRequest(), c.Explain(err, "open pull request of branch %s", r.Branch)
}

// Visit shows our pull requests into the tracked branch.
func (c edits) Visit(ctx context.Context, r forge.ChangeRequest, show func(forge.PullRequest) bool) error {
	self, err := c.Self(ctx)
	if err != nil {
		return err
	}
	query := url.Values{"state": {"all"}, "base_branch": {r.Base}, "poster": {self.Login}}
	err = wire.Walk(ctx, c.api, "pulls", query, func(some []pull) bool {
		for i := range some {
			if show(some[i].pullRequest()) {
				return true
			}
		}
		return false
	})
	return c.Explain(err, "look for pull requests of branch %s", r.Branch)
}

// Edit gives a pull request another title and body.
func (c edits) Edit(ctx context.Context, number int, title, body string) (forge.PullRequest, error) {
	var changed pull
	err := c.api.Send(ctx, http.MethodPatch, at("pulls/%s", number), map[string]string{"title": title, "body": body}, &changed)
	return changed.pullRequest(), c.Explain(err, "update pull request #%d", number)
}

// Shut closes a pull request.
func (c edits) Shut(ctx context.Context, number int) error {
	err := c.api.Send(ctx, http.MethodPatch, at("pulls/%s", number), map[string]string{"state": "closed"}, nil)
	return c.Explain(err, "close pull request #%d", number)
}

// Comments returns the comments below a pull request, which Gitea lists all.
func (c edits) Comments(ctx context.Context, number int) ([]proposals.Comment, error) {
	var said []comment
	err := c.api.Get(ctx, at("issues/%s/comments", number), nil, &said)
	return wire.Convert(said, (*comment).comment), c.Explain(err, "read comments of pull request #%d", number)
}

// Say adds a comment.
func (c edits) Say(ctx context.Context, number int, text string) error {
	err := c.api.Send(ctx, http.MethodPost, at("issues/%s/comments", number), map[string]string{"body": text}, nil)
	return c.Explain(err, "comment on pull request #%d", number)
}

// BlobAt returns the name of a file's content at a commit; empty if there is no such file.
func (c edits) BlobAt(ctx context.Context, path, ref string) (string, error) {
	return c.blobAt(ctx, path, ref)
}

// Stays reports whether the tracked branch still has the commit that a branch was made on.
func (c edits) Stays(ctx context.Context, madeOn, tip string) (bool, error) {
	return proposals.Descends(c.facts, madeOn, tip, func() (bool, error) { return c.isAncestor(ctx, madeOn, tip) })
}

// Plain returns text as it is: Gitea carries nothing out.
func (edits) Plain(text string) string { return text }

// Explain says what failed.
func (c edits) Explain(err error, format string, args ...any) error {
	return c.api.Explain(err, format, args...)
}

// blobAt returns the name of a file's content at a commit; empty if there is no such file.
func (c *Client) blobAt(ctx context.Context, path, ref string) (string, error) {
	found, err := c.contentAt(ctx, path, ref)
	if forge.KindOf(err) == forge.NotFound {
		return "", nil
	}
	return found.SHA, err
}
