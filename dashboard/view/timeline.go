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

// ImagesKey is the annotation under which a cache keeps the images of a template that it leaves
// out.
const ImagesKey = "images"

// mostEntries is the number of entries that are shown of a timeline.
const mostEntries = 100

// Entry is something that happened to a release.
type Entry struct {
	Time Moment
	Mark Mark
	// By is the person who made What happen; Link leads to the evidence.
	What, By, Detail string
	Link             *Link
}

// timelineOf returns what happened, the newest first, as far as the status, the gates and the
// history still show it.
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
	entries = append(entries, logEntries(sight.Release)...)
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Time.IsZero() })
	slices.SortStableFunc(entries, func(a, b Entry) int { return b.Time.Compare(a.Time.Time) })
	return entries[:min(len(entries), mostEntries)]
}

// attemptEntries returns the entries that the status has of the release in progress, or the last
// one.
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
	if !logged(status) {
		entries = append(entries, began) // its first batch often begins in the same second, and is newer
	}
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

// logged reports whether the log has the beginning of the rollback.
func logged(status *v1alpha1.BatchReleaseStatus) bool {
	return status.Rollback != nil && slices.ContainsFunc(status.Log, func(e v1alpha1.LogEntry) bool {
		return e.Type == v1alpha1.LogRollbackStarted && e.Time.Equal(status.StartedAt)
	})
}

// logEntries returns the entries that the status keeps in its log.
func logEntries(release *v1alpha1.BatchRelease) []Entry {
	log := release.Status.Log
	entries := make([]Entry, 0, len(log))
	for i := range log {
		one := &log[i]
		entry := Entry{Time: Moment{one.Time.Time}, Mark: Waiting, By: cell(one.By), Detail: line(one.Message)}
		switch one.Type {
		case v1alpha1.LogSuperseded:
			entry.What = "Superseded " + versionWords(one)
			entry.Detail = line(supersededWords(one))
		case v1alpha1.LogStopped:
			entry.What = "Stopped: " + show.CauseWords(one.Cause)
		case v1alpha1.LogResumed:
			entry.Mark, entry.What = Moving, "Resumed: no longer "+show.CauseWords(one.Cause)
		case v1alpha1.LogRetried:
			entry.Mark, entry.What = Moving, "Retried"
		case v1alpha1.LogRollbackStarted:
			entry.Mark, entry.What = Bad, "Rollback to revision "+cell(one.Revision)+" began"
		default:
			continue
		}
		entries = append(entries, entry)
	}
	return entries
}

func versionWords(one *v1alpha1.LogEntry) string {
	words := "revision " + cell(one.Revision)
	if version := show.VersionOf(strings.Join(one.Images, ",")); version != "" {
		words = "version " + cell(version) + ", " + words
	}
	return words
}

// supersededWords says of which commit a superseded release was, and where it stood.
func supersededWords(one *v1alpha1.LogEntry) string {
	words := fmt.Sprintf("it stood at batch %s, %s", cmp.Or(one.Batch, "0"), cmp.Or(string(one.State), "not begun"))
	if one.Commit != "" {
		words = strings.TrimSuffix("commit "+plain.Commit(one.Commit)+" by "+one.Author, " by ") + "; " + words
	}
	return words
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

// keptEntries returns the entries that the history has of a template.
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

// revisionsOf returns the templates in the history, the newest first.
func revisionsOf(sight *show.Sight) []Revision {
	return slices.SortedStableFunc(slices.Values(append(keptRevisions(sight), supersededRevisions(sight)...)), func(a, b Revision) int {
		if a.Number > 0 && b.Number > 0 {
			return cmp.Compare(b.Number, a.Number)
		}
		return b.Released.Compare(a.Released.Time)
	})
}

// supersededRevisions returns the templates whose releases others superseded. The history has no
// templates of them.
func supersededRevisions(sight *show.Sight) []Revision {
	var revisions []Revision
	for i := range sight.Release.Status.Log {
		one := &sight.Release.Status.Log[i]
		if one.Type == v1alpha1.LogSuperseded {
			revisions = append(revisions, Revision{
				Revision: cell(one.Revision), Images: line(strings.Join(one.Images, ",")), Outcome: string(v1alpha1.LogSuperseded), Mark: Waiting,
				Released: Moment{one.Time.Time}, Commit: plain.Commit(one.Commit), Author: cell(one.Author), whole: one.Commit,
				CommitAt: commitAt(sight.Source, one.Commit), Subject: cell(string(one.State)),
			})
		}
	}
	return revisions
}

func keptRevisions(sight *show.Sight) []Revision {
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
		Images: line(cmp.Or(show.ImagesOf(kept.Data.Raw), annotations[ImagesKey])),
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
