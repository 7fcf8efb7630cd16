package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/approvals/forge"
)

// maxNamed is how many reviewers whose approval does not count are named.
const maxNamed = 5

// enoughApprovals: as many reviewers as the policy asks for have approved what was merged.
func (a approval) enoughApprovals() string {
	wanted := int(a.policy.MinApprovals)
	switch have := len(a.approving()); {
	case wanted == 0:
		return ""
	case len(a.Commits) == 0:
		return "who made its commits is not known"
	case have < wanted:
		return fmt.Sprintf("%d of %d approvals %s missing%s: approve it now, which still counts, or %s",
			wanted-have, wanted, isAre(wanted-have), a.discounted(), askAnew)
	}
	return ""
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// approving are the reviews that count, one of each reviewer, in the order of their IDs.
func (a approval) approving() []forge.Review {
	return slices.DeleteFunc(a.latest(), func(r forge.Review) bool { return a.discount(r) != "" })
}

// latest is what each known reviewer said last, comments aside: a dismissal or a request for changes
// takes an earlier approval back.
func (a approval) latest() []forge.Review {
	last := map[int64]forge.Review{}
	for _, review := range a.Reviews {
		says := review.State != forge.ReviewCommented && review.State != forge.ReviewPending
		if before, found := last[review.Reviewer.ID]; says && review.Reviewer.Known() && (!found || before.ID <= review.ID) {
			last[review.Reviewer.ID] = review
		}
	}
	var reviews []forge.Review
	for _, review := range last {
		reviews = append(reviews, review)
	}
	slices.SortFunc(reviews, func(x, y forge.Review) int {
		return cmp.Or(cmp.Compare(x.ID, y.ID), cmp.Compare(x.Reviewer.ID, y.Reviewer.ID))
	})
	return reviews
}

// discount says why a review is no approval that counts; empty if it is one.
func (a approval) discount(review forge.Review) string {
	switch who := review.Reviewer; {
	case review.State == forge.ReviewChangesRequested:
		return "asked for changes"
	case review.State == forge.ReviewDismissed:
		return "had the review dismissed"
	case review.State != forge.ReviewApproved:
		return "did not approve"
	case review.CommitID == "" || review.CommitID != a.PullRequest.Head.SHA:
		return "approved an older head"
	case who.Same(a.self) || who.Same(a.PullRequest.Author):
		return "opened the pull request"
	case slices.ContainsFunc(a.Commits, func(c forge.Commit) bool { return who.Same(c.Author) || who.Same(c.Committer) }):
		return "made a commit of the pull request"
	default:
		return a.barred(who)
	}
}

// discounted names those whose reviews don't count, and why.
func (a approval) discounted() string {
	var names []string
	for _, review := range a.latest() {
		if why := a.discount(review); why != "" {
			names = append(names, name(review.Reviewer)+" "+why)
		}
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return " (" + strings.Join(names, ", ") + ")"
}
