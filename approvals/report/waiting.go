package report

import (
	"cmp"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Waiting returns the posts on commits that can't be released, or not yet, in the order to send
// them. Another commit's release may go on meanwhile, so OfWaiting has a field of its own.
func Waiting(release *v1alpha1.BatchRelease, o Options) []Post {
	last, context := *OfWaiting.Last(&release.Status), o.Context(release.Namespace, release.Name)
	if last != nil && last.Context != context { // we had another name then
		last = nil
	}
	var next []Post
	commit, now := waiting(release)
	if last != nil && open(last) && last.Commit != commit && last.Commit != release.Status.Commit {
		next = append(next, dropped(release, last).post(last.Commit, context))
	}
	if commit == "" || commit == release.Status.Commit || begun(release, last) {
		return next
	}
	if post := now.post(commit, context); due(post.Status, last) && (worthReporting(release, post, last) || stoppedAlone(&release.Status)) {
		next = append(next, post)
	}
	return next
}

// begun reports whether the commit last reported as waiting is being released, and that is not
// reported yet. Until then nothing else remembers that it was reported as waiting.
func begun(release *v1alpha1.BatchRelease, last *v1alpha1.ForgeReport) bool {
	told := release.Status.Report
	return last != nil && open(last) && last.Commit == release.Status.Commit &&
		(told == nil || told.Commit != last.Commit)
}

// waiting returns the commit that is not released, or not yet, and how it stands; empty if there is
// none.
func waiting(release *v1alpha1.BatchRelease) (commit string, now standing) {
	if why := refusing(release); why != nil {
		return release.Annotations[v1alpha1.CommitAnnotation], of(v1alpha1.ReportNotReleasable, why.Message)
	}
	if queued := release.Status.Queued; queued != nil {
		return queued.Commit, of(v1alpha1.ReportQueued, queuedBehind(&release.Status))
	}
	return "", standing{}
}

// queuedBehind says what a commit waits for.
func queuedBehind(status *v1alpha1.BatchReleaseStatus) string {
	if status.Queued.Awaits != "" {
		return status.Message
	}
	var waits []string
	if seen(status) && !done(status) {
		waits = append(waits, "queued behind "+cmp.Or(plain.Commit(status.Commit), "revision "+status.UpdateRevision))
	}
	if stopped := stop(status); stopped != nil {
		waits = append(waits, "waits: "+stopped.Message)
	}
	if len(waits) == 0 {
		return "waits for the release to go on"
	}
	return strings.Join(waits, "; ")
}

// dropped returns the end of a commit that has waited in vain.
func dropped(release *v1alpha1.BatchRelease, last *v1alpha1.ForgeReport) standing {
	status, asked := &release.Status, release.Annotations[v1alpha1.CommitAnnotation]
	now := of(v1alpha1.ReportNothingToRelease, "")
	now.Revision = status.UpdateRevision
	switch ended := endedWith(status, last.Commit); {
	case ended != nil:
		return endOf(ended, last)
	case release.DeletionTimestamp != nil:
		return of(v1alpha1.ReportDeleted, " before it began")
	case asked != last.Commit && asked != "":
		now = of(v1alpha1.ReportSuperseded, " before it began")
		now.by = plain.Commit(asked)
	case len(status.Quarantined) > 0:
		now = of(v1alpha1.ReportNotReleased, "")
		now.Revision = status.RolledBackTo()
	}
	return now
}
