package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// How the end of a commit begins that was rolled back. What was told last is known by it.
const (
	rollingBack  = "rolling back to "
	stuckBack    = "rollback stuck on the way to "
	rolledBackTo = "rolled back to "
)

// asksGit is what a description of a rollback asks for until Git has followed it.
var asksGit = regexp.MustCompile(`, merge #[0-9]+ to update Git`)

// wordsBack is what was told last of a rollback, from the revision on and without what it asked for; the revision alone where
// something else was told.
func wordsBack(told, revision string) string {
	for _, beginning := range []string{rollingBack, rolledBackTo} {
		if words, found := strings.CutPrefix(told, beginning); found {
			return asksGit.ReplaceAllString(words, "")
		}
	}
	return revision
}

// saysBack reports whether a description tells of a commit that is rolled back from.
func saysBack(description string) bool {
	return slices.ContainsFunc([]string{rollingBack, stuckBack, rolledBackTo}, func(beginning string) bool {
		return strings.HasPrefix(description, beginning)
	})
}

// leaving are the triggers of rollbacks that leave a commit which Git has still.
var leaving = []v1alpha1.RollbackTrigger{v1alpha1.TriggerAnnotation, v1alpha1.TriggerDeadline, v1alpha1.TriggerGateRejected}

// takenBack reports whether the present commit is one that is rolled back from, not to: the cluster
// was told to, or did so by itself, and Git had the commit still. A revert in Git is released as a commit of
// its own, but for one that only follows such a rollback: it takes no more than the quarantine away.
func takenBack(status *v1alpha1.BatchReleaseStatus) bool {
	return status.RollbackTo != "" && status.Rollback != nil && slices.Contains(leaving, status.Rollback.Trigger)
}

// backFrom is how the commit stands that is rolled back from: it has failed, however far that is.
func backFrom(status *v1alpha1.BatchReleaseStatus, last *v1alpha1.ForgeReport) standing {
	to := status.RollbackTo
	begins := rollingBack
	switch status.Phase {
	case v1alpha1.PhaseCompleted:
		begins = rolledBackTo
	case v1alpha1.PhaseFailed:
		return failure(stuckBack + to + ": " + status.Message)
	}
	follows, url := gitFollows(status)
	back := failure(begins + to + follows + ": " + whyBack(status, last))
	back.url = url
	return back
}

// gitFollows says how Git is to follow a rollback that it did not ask for, and where.
func gitFollows(status *v1alpha1.BatchReleaseStatus) (text, url string) {
	revert := status.Revert
	switch {
	case revert == nil || revert.Attempt != status.Attempt:
		return "", ""
	case revert.State == v1alpha1.RevertRefused:
		return ", change Git by hand", ""
	case revert.PullRequest == nil || revert.State != v1alpha1.RevertOpen || len(status.Quarantined) == 0:
		return "", ""
	case isLink(revert.PullRequest.URL):
		url = revert.PullRequest.URL
	}
	return fmt.Sprintf(", merge #%d to update Git", revert.PullRequest.Number), url
}

// whyBack is the reason of a rollback. Of one that somebody asked for, what was told last of the commit
// says more than the request.
func whyBack(status *v1alpha1.BatchReleaseStatus, last *v1alpha1.ForgeReport) string {
	asked := status.Rollback.Trigger == v1alpha1.TriggerAnnotation
	switch told := last != nil && last.Commit == status.Commit; {
	case told && saysBack(last.Description) && asked:
		return reasonToldOr(last, status.Rollback.Message)
	case !told || !asked:
		return status.Rollback.Message
	case last.State == string(forge.StateFailure):
		return last.Description
	case last.State == string(forge.StateSuccess):
		return "asked for after it was released"
	default:
		return "asked for" + atBatch(last)
	}
}

// reasonToldOr is the reason of a rollback as it was told before. One that was stuck was told why it was
// stuck instead.
func reasonToldOr(last *v1alpha1.ForgeReport, otherwise string) string {
	_, reason, found := strings.Cut(last.Description, ": ")
	if !found || strings.HasPrefix(last.Description, stuckBack) {
		return otherwise
	}
	return reason
}
