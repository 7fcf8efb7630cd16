package gitlab

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// readMerger reads the account that merged, where the merge is the approval. It is not known if
// another merge request was merged with the same commit.
func (c *Client) readMerger(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	if q.Reviews || into.PullRequest.MergeCommit == "" {
		return nil
	}
	merged, err := c.mergedAs(ctx, into.PullRequest.Base.Ref, into.PullRequest.MergeCommit)
	if err != nil {
		return err
	}
	if !merged.Merged {
		return c.api.Explain(wire.Distrusted("its merge is not listed yet"), "read merge requests of commit %s", into.PullRequest.MergeCommit)
	}
	if merged.Shared || merged.Number != q.Number {
		into.PullRequest.MergedBy = forge.Account{}
		return nil
	}
	into.PullRequest.MergedBy, err = c.typed(ctx, into.PullRequest.MergedBy)
	return err
}

// readReviews reads who has approved the merge request. An approval that was taken back is no
// longer listed.
func (c *Client) readReviews(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) error {
	if !q.Reviews {
		return nil
	}
	var found approvals
	if err := c.api.Get(ctx, at("merge_requests/%s/approvals", q.Number), nil, &found); err != nil {
		return c.api.Explain(err, "read approvals of merge request !%d", q.Number)
	}
	if len(found.By) == 0 {
		return nil
	}
	heads, err := c.heads(ctx, q.Number)
	if err != nil {
		return err
	}
	for i, one := range found.By {
		who, err := c.typed(ctx, one.User.account())
		if err != nil {
			return err
		}
		into.Reviews = append(into.Reviews, forge.Review{
			ID: int64(i + 1), Reviewer: who, State: forge.ReviewApproved, CommitID: headAt(heads, one.At), SubmittedAt: one.At, URL: into.PullRequest.URL,
		})
	}
	return nil
}

// heads lists the heads that the merge request has had, the newest first.
func (c *Client) heads(ctx context.Context, number int) ([]version, error) {
	heads, err := wire.List[version](ctx, c.api, at("merge_requests/%s/versions", number), nil)
	slices.SortFunc(heads, func(a, b version) int { return cmp.Compare(b.ID, a.ID) })
	return heads, c.api.Explain(err, "read versions of merge request !%d", number)
}

// headAt returns the head that an approval was given to. GitLab does not say it: it is the one that
// the merge request had at that time. Older servers don't tell the time, so that it is only known
// where the merge request has had a single head; empty if it is not known.
func headAt(heads []version, when time.Time) string {
	if len(heads) == 0 {
		return ""
	}
	first := heads[0].Head
	if !slices.ContainsFunc(heads, func(v version) bool { return v.Head != first }) {
		return first
	}
	at := slices.IndexFunc(heads, func(v version) bool { return v.Created.Before(when) })
	if when.IsZero() || at < 0 {
		return ""
	}
	return heads[at].Head
}
