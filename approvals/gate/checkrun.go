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

// checkCheckRun passes when the newest run of the check is completed as the policy asks for.
func checkCheckRun(g *v1alpha1.Gate, facts Facts, now time.Time) Decision {
	if decision, can := askable(g, facts); !can {
		return decision
	}
	policy := g.Spec.Policy.CheckRun
	what := fmt.Sprintf("check %s of %s on commit %s", policy.Name, policy.App, plain.Commit(g.Spec.Commit))
	newest, elsewhere := newestRun(g, facts.Forge.CheckRuns, facts.Source.Branch())
	meant := kept(facts.Source, v1alpha1.AccountApp, policy.App)
	switch {
	case newest == nil && elsewhere:
		return waiting(fmt.Sprintf("waits for %s for branch %s: runs for other branches, or for pull requests from forks, don't count",
			what, facts.Source.Branch()), time.Time{})
	case newest == nil && policy.SinceOpened:
		return waiting("waits for "+what+", started since the gate opened", time.Time{})
	case newest != nil && meant != 0 && meant != newest.App.ID && newest.App.Slug == policy.App:
		return waiting("waits for "+what+"; "+changedHands(policy.App, meant, newest.App.ID), time.Time{})
	case newest == nil:
		return waiting("waits for "+what, time.Time{})
	case newest.Status != forge.CheckCompleted:
		return waiting(fmt.Sprintf("waits for %s: it is %s", what, strings.ReplaceAll(string(newest.Status), "_", " ")), time.Time{})
	case !contentWith(policy, newest.Conclusion):
		return waiting(fmt.Sprintf("waits for %s: it ended with %s; a new run counts", what, newest.Conclusion), time.Time{})
	}
	return passed(fmt.Sprintf("%s ended with %s", what, newest.Conclusion), v1alpha1.Evidence{
		Kind: EvidenceCheckRun, Actor: newest.App.Slug, ActorID: newest.App.ID,
		ID: newest.ID, SHA: newest.HeadSHA, URL: forge.Link(newest.URL), Time: timeOf(newest.CompletedAt),
		Detail: fmt.Sprintf("%s ended with %s", newest.Name, newest.Conclusion),
	}, now)
}

// newestRun returns the run that was started last; nil if there is none. It reports whether there
// are workflows that did not run for the tracked branch.
func newestRun(g *v1alpha1.Gate, runs []forge.CheckRun, branch string) (newest *forge.CheckRun, elsewhere bool) {
	policy := g.Spec.Policy.CheckRun
	slug, id, numbered := forge.Numbered(policy.App)
	for i := range runs {
		run := &runs[i]
		made := run.App.ID != 0 && run.App.Slug == slug
		if numbered {
			made = run.App.ID == id
		}
		counts := run.HeadSHA == g.Spec.Commit && run.Name == policy.Name && made
		counts = counts && (!policy.SinceOpened || sinceOpened(g, run.StartedAt))
		if counts && run.App.Slug == forge.ActionsApp && !isFor(run.Branch, branch) {
			counts, elsewhere = false, true
		}
		if counts && (newest == nil || run.ID > newest.ID) {
			newest = run
		}
	}
	return newest, elsewhere
}

// isFor reports whether a workflow ran for the tracked branch, or for its merge queue, whose
// branches only the forge makes: and not for a pull request from a fork, or for another branch,
// which may define less of the check.
func isFor(ran, tracked string) bool {
	return ran == tracked || strings.HasPrefix(ran, "gh-readonly-queue/"+tracked+"/")
}

func contentWith(policy *v1alpha1.CheckRunGate, conclusion forge.Conclusion) bool {
	if len(policy.Conclusions) == 0 {
		return conclusion == forge.ConclusionSuccess
	}
	return slices.Contains(policy.Conclusions, v1alpha1.CheckConclusion(conclusion))
}
