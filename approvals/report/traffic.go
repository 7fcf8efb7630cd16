package report

import (
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// requestsOf returns what a batch gives the new version of the requests, in words that stay the
// same however far routes are; empty where no route shares them.
func requestsOf(release *v1alpha1.BatchRelease, step int) string {
	rollback := release.Status.Rollback != nil
	weight, shared := release.Spec.TrafficOf(rollback, step)
	if !shared {
		return ""
	}
	matches := 0
	if all := steps(release); step < len(all) {
		matches = len(all[step].Matches)
	}
	return v1alpha1.RequestWords(weight, matches)
}

// ending reports whether the gates of the last batch have passed, and the old pods and the routes
// are seen to.
func ending(status *v1alpha1.BatchReleaseStatus) bool {
	return status.Traffic != nil && status.Traffic.Ending != nil
}

// endOfTraffic returns the standing of a release at that end.
func endOfTraffic(release *v1alpha1.BatchRelease) standing {
	return inRelease(release, v1alpha1.ReportUpdating, endWords(&release.Spec))
}

// endWords returns what happens between the gates of the last batch and the end of the release.
func endWords(spec *v1alpha1.BatchReleaseSpec) string {
	const then = "old pods go, and the routes get back what they had"
	if t := spec.Strategy.Traffic; t != nil && t.KeepOldPods && t.OldPodsDelaySeconds > 0 {
		return fmt.Sprintf("after %s %s", time.Duration(t.OldPodsDelaySeconds)*time.Second, then)
	}
	return then
}

// blockedTraffic returns what keeps routes from sharing requests, if a release waits for that; nil
// if not.
func blockedTraffic(status *v1alpha1.BatchReleaseStatus) *v1alpha1.TrafficProblem {
	if status.StalledBy != v1alpha1.StallTrafficBlocked || status.Traffic == nil {
		return nil
	}
	return status.Traffic.Problem
}

// standsFor says what a release waits for that goes nowhere by itself.
func standsFor(release *v1alpha1.BatchRelease) string {
	status := &release.Status
	if blockedTraffic(status) == nil {
		return status.Message
	}
	if batch, batches := batchOf(release); batch > 0 {
		return batchWords(batch, batches) + ": " + blockedWords(status)
	}
	return blockedWords(status)
}

// blockedWords returns what keeps routes from sharing requests, and what to do.
func blockedWords(status *v1alpha1.BatchReleaseStatus) string {
	return "requests can't be moved: " + status.Traffic.Problem.Words()
}

// requestsText says in a pull request which version gets which requests now; empty where no route
// shares them.
func requestsText(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) string {
	told := release.Status.Traffic
	if told == nil {
		return ""
	}
	text := fmt.Sprintf("\n\nRevision %s gets %s", Code(told.CanaryRevision), v1alpha1.RequestWords(told.Weight, int(told.Matches)))
	if told.StableRevision != "" {
		text += fmt.Sprintf(", and revision %s %d%%", Code(told.StableRevision), 100-told.Weight)
	}
	text += "."
	if revision := g.Spec.Revision; revision != told.CanaryRevision && revision != told.StableRevision {
		text += fmt.Sprintf(" **Revision %s gets none.**", Code(g.Spec.Revision))
	}
	if told.Problem != nil {
		text += " **Requests can't be moved**: " + CodeUpTo(told.Problem.Words(), maxReason) + "."
	}
	return text
}

// and adds what else there is to say, if there is something.
func and(before, words string) string {
	if words == "" {
		return ""
	}
	return before + words
}
