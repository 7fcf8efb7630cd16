package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// maxLines is how many changed lines of a file are shown.
const maxLines = 20

// RevertWanted reports whether Git has to be brought in line with a rollback that it did not
// request.
func RevertWanted(release *v1alpha1.BatchRelease) bool {
	status := &release.Status
	return release.DeletionTimestamp == nil && len(status.Quarantined) > 0 &&
		status.RolledBackTo() != "" && status.Rollback.Trigger.LeavesGit()
}

// RevertWords makes the texts of the pull request that puts an earlier template back.
type RevertWords struct {
	Release *v1alpha1.BatchRelease
	// Commit brought the template that is put back.
	Commit string
	// File is changed, from Before to After.
	File          string
	Before, After []byte
}

// Title returns the title of the pull request.
func (w RevertWords) Title() string {
	return fmt.Sprintf("Put %s back to revision %s", word(w.Release.Namespace+"/"+w.Release.Name), word(w.Release.Status.RolledBackTo()))
}

// CommitMessage returns the message of its commit.
func (w RevertWords) CommitMessage() string {
	status := &w.Release.Status
	return fmt.Sprintf("%s\n\nRevision %s was rolled back in the cluster. This is the template of revision %s, as of commit %s.\n",
		w.Title(), word(status.Rollback.From), word(status.RolledBackTo()), word(w.Commit))
}

// Body returns the body of the pull request. The template in Git may differ from the revision that
// is rolled back: another rollback may follow the first.
func (w RevertWords) Body() string {
	status := &w.Release.Status
	from, to := Code(status.Rollback.From), Code(status.RolledBackTo())
	return strings.Join([]string{
		fmt.Sprintf("The cluster was rolled back from revision %s to revision %s, but Git still has the other template. This restores that of %s back.", from, to, to),
		strings.Join([]string{
			"| | |", "|---|---|",
			"| Release | " + Code(w.Release.Namespace+"/"+w.Release.Name) + " |",
			"| Rolled back | " + from + " |",
			"| Commit | " + commit(status.Commit) + " |",
			"| Put back | " + to + ", of commit " + commit(w.Commit) + " |",
			"| Requested by | " + askedBy(status.Rollback.Trigger) + " |",
			"| Why | " + Code(status.Rollback.Message) + " |",
		}, "\n"),
		"### What changes in " + Code(w.File) + "\n\n" + changes(w.Before, w.After),
		"### What the answer does\n\n" + strings.Join([]string{
			"- **Merge**: Git and the cluster agree. No pod is replaced, and what was rolled back is no longer quarantined.",
			fmt.Sprintf("- **Close**: nothing changes. The cluster stays at revision %s, and the template in Git is not released as long as it is unchanged.", to),
			"- **Push another template instead**: it is released with all its gates, and this pull request is closed.",
		}, "\n"),
	}, "\n\n") + "\n"
}

// askedBy says who, or what, requested a rollback.
func askedBy(trigger v1alpha1.RollbackTrigger) string {
	switch trigger {
	case v1alpha1.TriggerAnnotation:
		return "the annotation " + Code(v1alpha1.RollbackAnnotation) + " on the release"
	case v1alpha1.TriggerDeadline:
		return "the release itself: no progress within the deadline"
	case v1alpha1.TriggerGateRejected:
		return "the release itself: a gate was rejected"
	case v1alpha1.TriggerHistory:
		return "the release itself: its status was lost, and its history has the rollback"
	default:
		return Code(string(trigger))
	}
}

// changes shows the lines that a change takes out of a file and puts into it.
func changes(before, after []byte) string {
	out, in := linesOnlyIn(before, after), linesOnlyIn(after, before)
	shown := []string{fmt.Sprintf("%d out, %d in.", len(out), len(in)), ""}
	for i, line := range append(out, in...) {
		sign := "-"
		if i >= len(out) {
			sign = "+"
		}
		if i == maxLines {
			return strings.Join(append(shown, fmt.Sprintf("- and %d more", len(out)+len(in)-maxLines)), "\n")
		}
		shown = append(shown, "- "+Code(sign+" "+line))
	}
	return strings.Join(shown, "\n")
}

// linesOnlyIn returns the lines that a text has more often than another.
func linesOnlyIn(text, other []byte) []string {
	count := map[string]int{}
	for line := range bytes.Lines(other) {
		count[string(bytes.TrimSpace(line))]++
	}
	var only []string
	for line := range bytes.Lines(text) {
		trimmed := string(bytes.TrimSpace(line))
		if count[trimmed]--; count[trimmed] < 0 && trimmed != "" {
			only = append(only, trimmed)
		}
	}
	return only
}

// RevertOpened says that there is a pull request.
func RevertOpened(number int) string {
	return fmt.Sprintf("merge pull request #%d to update Git after the rollback", number)
}

// RevertDeclined says that people have closed it.
func RevertDeclined(number int) string {
	return fmt.Sprintf("pull request #%d was closed: the template stays in Git, and is not released", number)
}

// RevertMerged says that Git has followed.
func RevertMerged(number int) string {
	return fmt.Sprintf("pull request #%d brought Git back in line", number)
}

// isCommit is what an object of Git is named by.
var isCommit = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// RevertRefused says why there is no pull request, and what people can do.
func RevertRefused(release *v1alpha1.BatchRelease, file, reason string) string {
	if len(release.Spec.Members) > 0 {
		return revertTrain(release)
	}
	if file == "" {
		file = "the repository"
	}
	hint := ""
	if commit := release.Status.Commit; isCommit.MatchString(commit) { // people copy the command
		hint = "; 'git revert " + plain.Commit(commit) + "' undoes the commit that was rolled back"
	}
	return fmt.Sprintf("put the template of revision %s back into %s by hand, Sluice can't: %s%s", release.Status.RolledBackTo(), file, reason, hint)
}

// RevertClosed says why a pull request is no longer needed.
func RevertClosed(release *v1alpha1.BatchRelease) string {
	status := &release.Status
	switch {
	case len(status.Quarantined) > 0 && status.Revert != nil && status.RolledBackTo() != status.Revert.To:
		return fmt.Sprintf("Closed by Sluice: the release was rolled back to revision %s since.", Code(status.RolledBackTo()))
	case len(status.Quarantined) > 0:
		return "Closed by Sluice: the release was rolled back again."
	default:
		return "Closed by Sluice: Git has another template by now, and what was rolled back is no longer quarantined."
	}
}
