package proof

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/forge"
)

// forcedBy returns who passed a gate despite its policy; empty if nobody did.
func forcedBy(evidence []Fact) string {
	for _, fact := range evidence {
		if fact.Kind == gate.EvidenceForced {
			return nonEmpty(fact.Actor, "somebody")
		}
	}
	return ""
}

func nonEmpty(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// recheck applies the rule of a policy to the evidence of a gate again. It can't read the forge
// again: who is in a team, and who may write, is as the controller found it.
func recheck(g *Gate, policy *v1alpha1.GatePolicy, commit string) (Outcome, string) {
	if g.Type != policy.Type() {
		return Refuted, fmt.Sprintf("it is of type %s, and its policy of type %s", line(string(g.Type)), policy.Type())
	}
	if len(g.Evidence) == 0 {
		return Refuted, "it has no evidence"
	}
	switch {
	case policy.PullRequest != nil:
		return pullRequest(g, policy.PullRequest, commit)
	case policy.CommitStatus != nil:
		return posted(g, postedRule{
			kind: gate.EvidenceCommitStatus, of: "status " + policy.CommitStatus.Context,
			by: policy.CommitStatus.Creators, since: policy.CommitStatus.SinceOpened, commit: commit,
		})
	case policy.CheckRun != nil:
		return posted(g, postedRule{
			kind: gate.EvidenceCheckRun, of: "check " + policy.CheckRun.Name,
			by: []string{policy.CheckRun.App}, since: policy.CheckRun.SinceOpened, commit: commit,
		})
	case policy.Soak != nil:
		if soaked := g.Decided.Sub(g.Opened); soaked < policy.Soak.Duration.Duration {
			return Refuted, fmt.Sprintf("it soaked for %s, and its policy asks for %s", soaked, policy.Soak.Duration.Duration)
		}
		return only(g, gate.EvidenceSoakElapsed, "soaked for "+policy.Soak.Duration.Duration.String())
	case policy.Window != nil:
		if !gate.WindowOpen(policy.Window, g.Decided) {
			return Refuted, "it passed at " + g.Decided.Format(time.RFC3339) + ", outside of its window"
		}
		return only(g, gate.EvidenceWindowOpen, "its window was open")
	case policy.Job != nil:
		return only(g, gate.EvidenceJobSucceeded, "its Job succeeded")
	case policy.Metrics != nil:
		return measured(g, policy.Metrics)
	case policy.Manual != nil:
		by := g.Evidence[0]
		if by.Kind != gate.EvidenceStatusPatch && by.Kind != gate.EvidenceAnswer {
			return Refuted, "nobody has confirmed it"
		}
		return Proven, "confirmed by " + line(nonEmpty(by.Actor, "somebody"))
	}
	return NotEnough, "its type is not known"
}

// measured checks that each metric of a gate has passed, or that a person has decided instead.
func measured(g *Gate, policy *v1alpha1.MetricsGate) (Outcome, string) {
	if by := g.Evidence[0]; by.Kind == gate.EvidenceAnswer {
		return Proven, "its metrics did not decide it, and it was approved by " + line(nonEmpty(by.Actor, "somebody"))
	}
	counted := 0
	for _, metric := range policy.Metrics {
		if !metric.DryRun {
			counted++
		}
	}
	if slices.ContainsFunc(g.Evidence, func(f Fact) bool { return f.Kind != gate.EvidenceMetricPassed }) || len(g.Evidence) < counted {
		return Refuted, fmt.Sprintf("its evidence is not that %d metrics have passed", counted)
	}
	return Proven, fmt.Sprintf("%d metrics have passed", len(g.Evidence))
}

func only(g *Gate, kind, words string) (Outcome, string) {
	if g.Evidence[0].Kind != kind {
		return Refuted, "its evidence is of another kind: " + line(g.Evidence[0].Kind)
	}
	return Proven, words
}

// postedRule is the rule of a status or a check.
type postedRule struct {
	kind, of string
	by       []string
	since    bool
	commit   string
}

func posted(g *Gate, rule postedRule) (Outcome, string) {
	fact := g.Evidence[0]
	switch {
	case fact.Kind != rule.kind:
		return Refuted, "its evidence is of another kind: " + line(fact.Kind)
	case fact.SHA != rule.commit:
		return Refuted, fmt.Sprintf("%s is of commit %s, not of %s", line(rule.of), line(fact.SHA), line(rule.commit))
	case !listed(rule.by, fact):
		return Refuted, fmt.Sprintf("%s was posted by %s, who is not named by its policy", line(rule.of), who(fact))
	case rule.since && (fact.Time == nil || fact.Time.Before(g.Opened)):
		return Refuted, line(rule.of) + " was posted before the gate opened"
	}
	return Proven, fmt.Sprintf("%s was posted by %s", line(rule.of), who(fact))
}

func pullRequest(g *Gate, policy *v1alpha1.PullRequestGate, commit string) (Outcome, string) {
	merged := g.Evidence[0]
	if merged.Kind == gate.EvidenceRecordMerged {
		return NotEnough, "its source has no forge: nobody checked who approved it"
	}
	if merged.Kind != gate.EvidencePullRequestMerged || merged.ActorID == 0 {
		return Refuted, "no pull request was merged by a known account"
	}
	if merged.SHA == commit {
		return Refuted, "the approval came with the release itself"
	}
	approvers := []Fact{merged}
	if policy.MinApprovals > 0 {
		approvers = slices.Clone(g.Evidence[1:])
		for _, number := range g.Reviewers {
			approvers = append(approvers, Fact{Kind: gate.EvidenceReview, ActorID: number})
		}
	}
	names, seen := []string{}, map[int64]bool{}
	for _, fact := range approvers {
		if problem := unfit(g, policy, fact); problem != "" {
			return Refuted, who(fact) + " " + problem
		}
		if !seen[fact.ActorID] {
			names = append(names, who(fact))
		}
		seen[fact.ActorID] = true
	}
	switch {
	case len(seen) < int(policy.MinApprovals):
		return Refuted, fmt.Sprintf("%d approved it, and its policy asks for %d", len(seen), policy.MinApprovals)
	case len(policy.Approvers) > 0 && len(policy.Teams) == 0 && slices.ContainsFunc(approvers, func(f Fact) bool { return f.Actor == "" && !listed(policy.Approvers, f) }):
		return NotEnough, "the statement has no room for the names of who approved it, by which its policy lists them: list them as LOGIN#NUMBER"
	case policy.ForbidSelfApproval && len(g.Contributors) == 0:
		return NotEnough, "who contributed to the release is not stated"
	}
	return Proven, fmt.Sprintf("pull request #%d, merged by %s, approved by %s", merged.ID, who(merged), strings.Join(names, ", "))
}

// unfit says why somebody may not approve; empty if they may.
func unfit(g *Gate, policy *v1alpha1.PullRequestGate, fact Fact) string {
	reviews := policy.MinApprovals > 0
	switch {
	case fact.ActorID == 0:
		return "is not known"
	case reviews && fact.Kind != gate.EvidenceReview:
		return "gave no review"
	case policy.ForbidSelfApproval && slices.Contains(g.Contributors, fact.ActorID):
		return "contributed to the release and approved it"
	case len(policy.Approvers) > 0 && len(policy.Teams) == 0 && !listed(policy.Approvers, fact) && (fact.Actor != "" || allNumbered(policy.Approvers)):
		return "is none of the approvers"
	}
	return ""
}

// allNumbered reports whether all names have the number of their account.
func allNumbered(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, _, numbered := forge.Numbered(name)
		return !numbered
	})
}

// listed reports whether names have the account of a fact.
func listed(names []string, fact Fact) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		login, number, numbered := forge.Numbered(name)
		if numbered {
			return number == fact.ActorID
		}
		return strings.EqualFold(login, fact.Actor)
	})
}

// who names the account of a fact.
func who(fact Fact) string {
	if fact.Actor == "" {
		return fmt.Sprintf("account %d", fact.ActorID)
	}
	return line(fact.Actor)
}
