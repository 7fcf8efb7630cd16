package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/plain"
)

// sluicePrefix begins the contexts of every Sluice, whichever its cluster.
const sluicePrefix = "sluice/"

// checkCommitStatus passes when the newest status that counts is success.
func checkCommitStatus(g *v1alpha1.Gate, facts Facts, now time.Time) Decision {
	if decision, can := askable(g, facts); !can {
		return decision
	}
	policy := g.Spec.Policy.CommitStatus
	if prefix := facts.Forge.OwnPrefix; ownContext(policy.Context, prefix) {
		return waiting(fmt.Sprintf("can't pass: contexts that begin with %s are Sluice's own", prefix), time.Time{})
	}
	what := fmt.Sprintf("status %s on commit %s", policy.Context, plain.Commit(g.Spec.Commit))
	known := *facts.Forge
	creators, changed := sameAsBefore(facts.Source, policy.Creators, known.Creators)
	known.Creators = creators
	newest, others := newestStatus(g, &known)
	if changed != "" {
		others += "; " + changed
	}
	switch {
	case newest == nil && policy.SinceOpened:
		return waiting("waits for "+what+", posted since the gate opened"+others+unknownCreators(policy.Creators, facts.Forge.Creators), time.Time{})
	case newest == nil:
		return waiting("waits for "+what+others+unknownCreators(policy.Creators, facts.Forge.Creators), time.Time{})
	case newest.State != forge.StateSuccess:
		return waiting(fmt.Sprintf("waits for %s: it is %s", what, newest.State), time.Time{})
	}
	return passed(what+" is success", v1alpha1.Evidence{
		Kind: EvidenceCommitStatus, Actor: newest.Creator.Login, ActorID: newest.Creator.ID,
		ID: newest.ID, SHA: newest.SHA, URL: forge.Link(newest.TargetURL), Time: timeOf(newest.CreatedAt),
		Detail: fmt.Sprintf("%s is %s", newest.Context, newest.State),
	}, now)
}

// askable reports whether a gate on the release commit can be judged, and what to say if not.
func askable(g *v1alpha1.Gate, facts Facts) (Decision, bool) {
	switch {
	case facts.Source == nil:
		return waiting("can't pass: the release comes from no ReleaseSource, whose forge could be asked", time.Time{}), false
	case facts.Source.Spec.Forge == nil:
		return waiting(fmt.Sprintf("can't pass: ReleaseSource %s/%s has no forge to ask: set its spec.forge",
			facts.Source.Namespace, facts.Source.Name), time.Time{}), false
	case g.Spec.Commit == "":
		return waiting("can't pass: it is not known which commit brought the revision", time.Time{}), false
	case facts.Forge == nil:
		return unchanged(g), false
	}
	return Decision{}, true
}

// ownContext reports whether a context is one of ours. Without a known prefix every context counts
// as ours.
func ownContext(context, prefix string) bool { return hasPrefixFold(context, prefix) }

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// newestStatus returns the newest of those who may post it; nil if there is none, with what to
// report about those that others posted.
func newestStatus(g *v1alpha1.Gate, known *ForgeFacts) (newest *forge.Status, others string) {
	var foreign []string
	for i := range known.Statuses {
		status := &known.Statuses[i]
		switch {
		case status.SHA != g.Spec.Commit, !strings.EqualFold(status.Context, g.Spec.Policy.CommitStatus.Context):
		case g.Spec.Policy.CommitStatus.SinceOpened && !sinceOpened(g, status.CreatedAt):
		case !known.mayPost(status):
			foreign = append(foreign, name(status.Creator))
		case newest == nil || status.ID > newest.ID:
			newest = status
		}
	}
	return newest, notCounted(foreign)
}

// sinceOpened reports whether something happened after the gate opened, to the second that creation
// times have.
func sinceOpened(g *v1alpha1.Gate, when time.Time) bool {
	return !g.CreationTimestamp.IsZero() && !when.Before(g.CreationTimestamp.Time)
}

// mayPost reports whether the statuses of a status's creator count. Our own statuses count only if
// they are about another cluster.
func (f *ForgeFacts) mayPost(status *forge.Status) bool {
	if status.Creator.Same(f.Self) && !hasPrefixFold(status.Context, sluicePrefix) {
		return false
	}
	return slices.ContainsFunc(f.Creators, status.Creator.Same)
}

func notCounted(posters []string) string {
	if len(posters) == 0 {
		return ""
	}
	slices.Sort(posters)
	posters = slices.Compact(posters)
	if more := len(posters) - maxNamed; more > 0 {
		posters = append(posters[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf(": what %s posted does not count, by the gate's creators", strings.Join(posters, ", "))
}

// unknownCreators returns the names of the creators without an account.
func unknownCreators(logins []string, accounts []forge.Account) string {
	var unknown []string
	for i, login := range logins {
		if i >= len(accounts) || !accounts[i].Known() {
			unknown = append(unknown, login)
		}
	}
	if len(unknown) == 0 {
		return ""
	}
	return fmt.Sprintf("; the forge has no account %s", strings.Join(unknown, ", "))
}
