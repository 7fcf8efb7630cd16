package gitlab

import (
	"context"
	"net/http"
	"net/url"
	"regexp"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/proposals"
	"github.com/sluice-dev/sluice/forge/wire"
)

// action begins a line of text that GitLab would carry out as ours, such as /merge or /approve.
var action = regexp.MustCompile(`(?m)^([ \t>]*)/`)

// text returns text of which GitLab carries nothing out. People read the same.
func text(said string) string { return action.ReplaceAllString(said, `$1\/`) }

// edits changes merge requests.
type edits struct{ *Client }

// Create opens the merge request of a request.
func (c edits) Create(ctx context.Context, r forge.ChangeRequest) (forge.PullRequest, error) {
	var made mergeRequest
	body := map[string]string{"title": r.Title, "description": text(r.Body), "source_branch": r.Branch, "target_branch": r.Base}
	err := c.api.Send(ctx, http.MethodPost, "merge_requests", body, &made)
	if err == nil && made.Number == 0 {
		err = wire.Distrusted("the answer has no number")
	}
	return made.pullRequest(), c.Explain(err, "open merge request of branch %s", r.Branch)
}

// Visit shows the merge requests of the branch.
func (c edits) Visit(ctx context.Context, r forge.ChangeRequest, show func(forge.PullRequest) bool) error {
	query := url.Values{"state": {"all"}, "scope": {"all"}, "source_branch": {r.Branch}, "target_branch": {r.Base}}
	found, err := wire.List[mergeRequest](ctx, c.api, "merge_requests", query)
	if err != nil {
		return c.Explain(err, "look for merge requests of branch %s", r.Branch)
	}
	for i := range found {
		if show(found[i].pullRequest()) {
			return nil
		}
	}
	return nil
}

// Edit gives a merge request another title and body.
func (c edits) Edit(ctx context.Context, number int, title, body string) (forge.PullRequest, error) {
	var changed mergeRequest
	err := c.api.Send(ctx, http.MethodPut, at("merge_requests/%s", number), map[string]string{"title": title, "description": body}, &changed)
	return changed.pullRequest(), c.Explain(err, "update merge request !%d", number)
}

// Shut closes a merge request.
func (c edits) Shut(ctx context.Context, number int) error {
	err := c.api.Send(ctx, http.MethodPut, at("merge_requests/%s", number), map[string]string{"state_event": "close"}, nil)
	return c.Explain(err, "close merge request !%d", number)
}

// Comments returns the comments below a merge request, without what GitLab notes itself.
func (c edits) Comments(ctx context.Context, number int) ([]proposals.Comment, error) {
	notes, err := wire.List[note](ctx, c.api, at("merge_requests/%s/notes", number), url.Values{"activity_filter": {"only_comments"}})
	var said []proposals.Comment
	for _, one := range notes {
		if !one.System {
			said = append(said, proposals.Comment{By: one.Author.account(), Text: one.Body})
		}
	}
	return said, c.Explain(err, "read comments of merge request !%d", number)
}

// Say adds a comment.
func (c edits) Say(ctx context.Context, number int, said string) error {
	err := c.api.Send(ctx, http.MethodPost, at("merge_requests/%s/notes", number), map[string]string{"body": said}, nil)
	return c.Explain(err, "comment on merge request !%d", number)
}

// BlobAt returns the name of a file's content at a commit; empty if there is no such file.
func (c edits) BlobAt(ctx context.Context, path, ref string) (string, error) {
	return c.blobAt(ctx, path, ref)
}

// Stays reports whether the tracked branch still has the commit that a branch was made on. Where
// merges have to follow on the tip, that must be the commit: GitLab would have people rebase any
// other, and what they approve then is not our commit.
func (c edits) Stays(ctx context.Context, madeOn, tip string) (bool, error) {
	found, err := c.readProject(ctx, false)
	if err != nil {
		return false, err
	}
	if linear := found.MergeMethod == "ff" || found.MergeMethod == "rebase_merge"; linear && madeOn != tip {
		return false, nil
	}
	return proposals.Descends(c.facts, madeOn, tip, func() (bool, error) { return c.isAncestor(ctx, madeOn, tip) })
}

// Plain returns text of which GitLab carries nothing out.
func (edits) Plain(said string) string { return text(said) }

// Explain says what failed.
func (c edits) Explain(err error, format string, args ...any) error {
	return c.api.Explain(err, format, args...)
}
