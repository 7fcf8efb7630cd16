package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/forge"
)

// maxNamed is how many reviewers whose approval does not count are named.
const maxNamed = 5

// enoughApprovals requires as many approvals of the merged commit as the policy asks for.
func (a approval) enoughApprovals() string {
	wanted := int(a.policy.MinApprovals)
	switch have := len(a.approving()); {
	case wanted == 0:
		return ""
	case have < wanted:
		missing := fmt.Sprintf("%d of %d approvals %s missing%s: ", wanted-have, wanted, isAre(wanted-have), a.discounted())
		who := a.couldApprove(wanted)
		if who != "" && !a.lateReviews() {
			return fmt.Sprintf("%sits forge takes no review after the merge: %s", missing, a.askAnew())
		}
		if who != "" {
			return fmt.Sprintf("%s%s can approve it now, which still counts, or %s", missing, who, a.askAnew())
		}
		return fmt.Sprintf("%stoo few of the approvers can approve it: %s, or %s", missing, a.askAnew(), a.pastPolicy())
	}
	return ""
}

// lateReviews reports whether the forge takes reviews after the merge.
func (a approval) lateReviews() bool {
	can, known := forge.CapabilitiesOf(forge.Type(a.source.Spec.Forge.Type))
	return can.LateReviews || !known
}

// couldApprove names those whose reviews would still count; empty if the policy names too few of
// them.
func (a approval) couldApprove(wanted int) string {
	if len(a.policy.Approvers)+len(a.policy.Teams) == 0 {
		return "another person with write access"
	}
	listed := slices.Clone(a.Approvers)
	for _, team := range a.Teams {
		listed = append(listed, team.Members...)
	}
	could, names := map[int64]bool{}, []string{}
	for _, who := range listed {
		if !who.Known() || could[who.ID] || who.Same(a.self) || a.barred(who) != "" || a.madeCommit(who) {
			continue
		}
		could[who.ID] = true
		if !slices.ContainsFunc(a.approving(), func(r forge.Review) bool { return who.Same(r.Reviewer) }) {
			names = append(names, name(who))
		}
	}
	if len(could) < wanted {
		return ""
	}
	return strings.Join(upTo(names, maxNamed), ", ")
}

// upTo returns the first so many names, and how many more there are.
func upTo(names []string, most int) []string {
	if more := len(names) - most; more > 0 {
		return append(slices.Clone(names[:most]), fmt.Sprintf("%d more", more))
	}
	return names
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// approving returns the reviews that count, one of each reviewer, in the order of their IDs.
func (a approval) approving() []forge.Review {
	return slices.DeleteFunc(a.latest(), func(r forge.Review) bool { return a.discount(r) != "" })
}

// candidates returns those whose answer counts if they may write to the repository: the first to
// have answered, those first of whom the forge says that they belong to the repository. There may
// be any number of others on a public one.
func (a approval) candidates() []forge.Account {
	if a.policy.MinApprovals == 0 {
		return slices.DeleteFunc([]forge.Account{a.PullRequest.MergedBy}, func(who forge.Account) bool {
			return !who.Known() || who.Type != forge.TypeUser || a.barred(who) != ""
		})
	}
	var found []forge.Account
	reviews := slices.DeleteFunc(a.latest(), func(r forge.Review) bool {
		return a.disregard(r) != "" || r.Reviewer.Type != forge.TypeUser
	})
	slices.SortStableFunc(reviews, func(x, y forge.Review) int {
		return cmp.Compare(btoi(!x.Belongs), btoi(!y.Belongs))
	})
	for _, review := range reviews[:min(len(reviews), maxCandidates)] {
		found = append(found, review.Reviewer)
	}
	return found
}

// maxCandidates is for how many people the forge is asked what they may do.
const maxCandidates = 20

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// latest returns what each known reviewer said last, comments aside: a dismissal or a request for
// changes takes an earlier approval back.
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
	return cmp.Or(a.disregard(review), a.writes(review.Reviewer))
}

// disregard says why a review is no approval that counts, whatever the reviewer may do with the
// repository.
func (a approval) disregard(review forge.Review) string {
	switch who := review.Reviewer; {
	case review.State == forge.ReviewChangesRequested:
		return "asked for changes"
	case review.State == forge.ReviewDismissed:
		return "had the review dismissed"
	case review.State == forge.ReviewUnofficial:
		return "gave an approval that the forge does not count"
	case review.State != forge.ReviewApproved:
		return "did not approve"
	case review.CommitID == "" || review.CommitID != a.PullRequest.Head.SHA && !a.sameChange(review.CommitID):
		return "approved an older head"
	case who.Same(a.self): // a pull request that another account has opened is refused
		return "opened the pull request"
	case a.madeCommit(who):
		return madeCommit
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
	return " (" + strings.Join(upTo(names, maxNamed), ", ") + ")"
}
