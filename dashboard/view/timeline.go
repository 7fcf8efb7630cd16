package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/plain"
)

// mostEntries is the number of entries that are shown of a timeline.
const mostEntries = 100

// Entry is something that happened to a release.
type Entry struct {
	Time Moment
	Mark Mark
	// What happened, By whom, and in which Detail; Link leads to the evidence.
	What, By, Detail string
	Link             *Link
}

// timelineOf is what happened, the newest first, as far as the status, the gates and the history still show it.
func timelineOf(sight *show.Sight) []Entry {
	var entries []Entry
	entries = append(entries, attemptEntries(sight.Release)...)
	for i := range sight.Gates {
		if sight.Gates[i].Spec.ReleaseRef.UID == sight.Release.UID {
			entries = append(entries, gateEntries(&sight.Gates[i])...)
		}
	}
	for i := range sight.Kept {
		entries = append(entries, keptEntries(&sight.Kept[i])...)
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Time.IsZero() })
	slices.SortStableFunc(entries, func(a, b Entry) int { return b.Time.Compare(a.Time.Time) })
	return entries[:min(len(entries), mostEntries)]
}

// attemptEntries are the entries that the status has of the release in progress, or the last one.
func attemptEntries(release *v1alpha1.BatchRelease) []Entry {
	status := &release.Status
	row := RowOf(release, time.Time{})
	began := Entry{Time: moment(status.StartedAt), Mark: Moving, What: "Release of revision " + status.UpdateRevision + " began", By: row.Author, Detail: commitWords(status.Commit, row.Subject)}
	if back := status.Rollback; back != nil {
		began.Mark, began.What = Bad, "Rollback to revision "+status.UpdateRevision+" began"
		began.By, began.Detail = "", line(cmp.Or(back.Message, string(back.Trigger)))
	}
	var entries []Entry
	if status.Entered() {
		entries = append(entries, Entry{
			Time: moment(status.StepStartedAt), Mark: Moving, What: fmt.Sprintf("Batch %d of %d began", row.Batch, row.Batches),
		})
	}
	entries = append(entries, began) // its first batch often begins in the same second, and is newer
	for _, jump := range status.Jumps() {
		entries = append(entries, Entry{Time: Moment{jump.Time.Time}, Mark: Waiting, What: fmt.Sprintf("Jump from batch %d to batch %d", jump.From+1, jump.To+1)})
	}
	if refused := status.RefusedWrite; refused != nil {
		entries = append(entries, Entry{Time: Moment{refused.Since.Time}, Mark: Bad, What: "The API server refuses to " + line(refused.Write), Detail: line(refused.Message)})
	}
	if status.Phase == v1alpha1.PhaseFailed {
		failed := Entry{Time: moment(status.LastUpdateTime), Mark: Bad, What: "The release failed"}
		if status.Failure != nil {
			failed.Detail = line(status.Failure.Message)
		}
		entries = append(entries, failed)
	}
	return entries
}

func gateEntries(gate *v1alpha1.Gate) []Entry {
	shown := gateOf(gate)
	name := fmt.Sprintf("gate %s of batch %d", gate.Spec.Type, gate.Spec.Step+1)
	entries := []Entry{{Time: Moment{gate.CreationTimestamp.Time}, Mark: Waiting, What: "Opened " + name, Link: shown.Pull}}
	if gate.Status.DecidedAt == nil {
		return entries
	}
	decided := Entry{Time: Moment{gate.Status.DecidedAt.Time}, Mark: Good, What: "Passed " + name, Detail: shown.Text, Link: shown.Pull}
	if gate.Status.Decision == v1alpha1.DecisionRejected {
		decided.Mark, decided.What = Bad, "Rejected "+name
	}
	var by []string
	for _, fact := range shown.Evidence {
		if fact.Actor != "" && !slices.Contains(by, fact.Actor) {
			by = append(by, fact.Actor)
		}
		if decided.Link == nil && fact.Link != "" {
			decided.Link = &Link{fact.Kind, fact.Link}
		}
	}
	decided.By = strings.Join(by, ", ")
	if forced := gate.Forced(); forced != nil {
		decided.Mark, decided.What, decided.By = Bad, "Forced "+name, cell(forced.By)
		decided.Detail = line(forced.Reason)
	}
	return append(entries, decided)
}

// keptEntries are the entries that the history has of a template.
func keptEntries(kept *appsv1.ControllerRevision) []Entry {
	revision := revisionOf(kept)
	entry := Entry{Time: revision.Released, Mark: Good, By: revision.Author, Detail: commitWords(revision.whole, revision.Subject)}
	switch v1alpha1.Outcome(revision.Outcome) {
	case v1alpha1.OutcomeReleased:
		entry.What = "Released revision " + revision.Revision
	case v1alpha1.OutcomeRolledBackTo:
		entry.What, entry.By = "Rolled back to revision "+revision.Revision, "" // its author did not roll back
	case v1alpha1.OutcomeAdopted:
		entry.What = "Adopted revision " + revision.Revision + ", which ran before"
	default:
		return nil
	}
	if revision.ApprovedBy != "" {
		entry.Detail = strings.TrimPrefix(entry.Detail+"; approved by "+revision.ApprovedBy, "; ")
	}
	return []Entry{entry}
}

func commitWords(commit, subject string) string {
	if commit == "" {
		return subject
	}
	return strings.TrimSuffix(plain.Commit(commit)+": "+subject, ": ")
}

func moment(t *metav1.Time) Moment {
	if t == nil {
		return Moment{}
	}
	return Moment{t.Time}
}

// Revision is a template in the history.
type Revision struct {
	Number           int64
	Revision, Images string
	// Current says that a rollback in mid-release goes back to it.
	Current        bool
	Outcome        string
	Mark           Mark
	Released       Moment
	Took           string
	Commit, Author string
	Subject        string
	ApprovedBy     string
	Forced         string
	// CommitAt is the address of the commit on the forge; empty if there is none.
	CommitAt string
	// Before is the previous revision in the history; empty for the first.
	Before string

	whole string
}

// revisionsOf are the templates in the history, the newest first.
func revisionsOf(sight *show.Sight) []Revision {
	kept := slices.SortedFunc(slices.Values(sight.Kept), func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), strings.Compare(a.Name, b.Name))
	})
	current := sight.Release.Annotations[v1alpha1.CurrentStableAnnotation]
	revisions := make([]Revision, 0, len(kept))
	for i := range kept {
		revision := revisionOf(&kept[i])
		revision.CommitAt = commitAt(sight.Source, revision.whole)
		revision.Current = current != "" && revision.Revision == current
		if i+1 < len(kept) {
			revision.Before = kept[i+1].Labels[v1alpha1.RevisionLabel]
		}
		revisions = append(revisions, revision)
	}
	return revisions
}

func revisionOf(kept *appsv1.ControllerRevision) Revision {
	annotations := kept.Annotations
	revision := Revision{
		Number: kept.Revision, Revision: kept.Labels[v1alpha1.RevisionLabel], Outcome: cell(annotations[v1alpha1.OutcomeAnnotation]), Mark: Good,
		whole: annotations[v1alpha1.CommitAnnotation], Commit: plain.Commit(annotations[v1alpha1.CommitAnnotation]),
		Author: cell(annotations[v1alpha1.AuthorAnnotation]), Subject: cell(annotations[v1alpha1.SubjectAnnotation]),
		ApprovedBy: cell(annotations[v1alpha1.ApprovedByAnnotation]), Forced: line(annotations[v1alpha1.ForcedAnnotation]),
		Images: line(show.ImagesOf(kept.Data.Raw)),
	}
	if v1alpha1.Outcome(revision.Outcome) == v1alpha1.OutcomeRolledBack {
		revision.Mark = Bad
	}
	began, _ := time.Parse(time.RFC3339, annotations[v1alpha1.StartedAtAnnotation])
	ended, err := time.Parse(time.RFC3339, annotations[v1alpha1.ReleasedAtAnnotation])
	if err == nil {
		revision.Released = Moment{ended}
		if !began.IsZero() && !ended.Before(began) {
			revision.Took = duration.HumanDuration(ended.Sub(began))
		}
	}
	return revision
}
