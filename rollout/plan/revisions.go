package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// defaultHistory is how many templates are kept unless the release says otherwise.
const defaultHistory = 10

// Kept is a template that is kept as a ControllerRevision.
type Kept struct {
	// Name of the ControllerRevision.
	Name     string
	Revision string
	Digest   string
	// Number grows with each one that is kept, or released again.
	Number int64
	Record
}

// Record is what the history says of a template.
type Record struct {
	Outcome v1alpha1.Outcome
	// Attempt is the one that had the outcome.
	Attempt int64
	// Commit brought the template, with its author, as it claims, and the first line of its message.
	Commit, Author, Subject string
	// CommittedAt is when the commit was made, as its committer claims, as RFC 3339; empty where that is not known.
	CommittedAt string
	// StartedAt is when the release or rollback began that made it so, as RFC 3339.
	StartedAt string
	// ReleasedAt is when the template became stable, as RFC 3339; empty if it never did.
	ReleasedAt string
	// ApprovedBy are those who passed the gates of its release.
	ApprovedBy string
	// Forced says which gates of its release were passed despite their policies, by whom and why.
	Forced string
}

// stable reports whether the template may be gone back to. One that was rolled back is a release like
// any other if it is given again, with all its gates.
func (k *Kept) stable() bool { return k.Outcome != v1alpha1.OutcomeRolledBack }

// kept returns the kept template of a revision, nil if there is none.
func (l *look) kept(revision string) *Kept {
	for i := range l.Kept {
		if revision != "" && l.Kept[i].Revision == revision {
			return &l.Kept[i]
		}
	}
	return nil
}

// stable is kept for a revision that may be gone back to.
func (l *look) stable(revision string) *Kept {
	if kept := l.kept(revision); kept != nil && kept.stable() {
		return kept
	}
	return nil
}

// keepWorkload keeps the workload's template with a record, in one write. It reports whether that is planned.
func keepWorkload(d Decision, why Reason, record Record) (Decision, bool) {
	return d.try(RecordRevision{
		Reason: why, Revision: d.Workload.Revision, Digest: d.Workload.Digest,
		Number: d.nextNumber(), Record: record,
	})
}

// keptWorkload returns what is kept of the workload's template.
func (l *look) keptWorkload() *Kept {
	if kept := l.kept(l.Workload.Revision); kept != nil && kept.Digest == l.Workload.Digest {
		return kept
	}
	return nil
}

func (l *look) nextNumber() int64 {
	number := int64(1)
	for _, k := range l.Kept {
		number = max(number, k.Number+1)
	}
	return number
}

// keepBefore keeps what runs before a release, to roll back to. It reports whether that is done, or planned.
func keepBefore(d Decision) (Decision, bool) {
	const why Reason = "kept to roll back to"
	record := Record{Outcome: v1alpha1.OutcomeAdopted, Attempt: d.Release.Status.Attempt}
	kept := d.keptWorkload()
	switch {
	case kept == nil:
		return keepWorkload(d, why, record)
	case !kept.stable() && !d.leaves(kept): // somebody has rolled it out by hand since
		return d.try(UpdateRevision{Reason: why, Name: kept.Name, Number: d.nextNumber(), Record: record})
	default:
		return d, true
	}
}

// keepLeft keeps a template that is rolled back in mid-release, for the record.
func keepLeft(d Decision) Decision {
	const why Reason = "rolled back: kept for the record"
	if d.record.Rollback == nil {
		return d
	}
	record := d.origin(d.leftCommit())
	record.Outcome, record.Attempt = v1alpha1.OutcomeRolledBack, d.record.Attempt
	switch w, unwritten := d.Workload, d.leftUnwritten(); {
	case !d.empty && w.Revision == d.record.Rollback.From && w.Digest != d.record.Resolved.Digest && d.keptWorkload() == nil:
		d, _ = keepWorkload(d, why, record)
	case unwritten != nil:
		d, _ = d.try(RecordRevision{
			Reason: why, Template: &Template{Given: true}, Revision: unwritten.Revision, Digest: unwritten.Digest,
			Number: d.nextNumber(), Record: record,
		})
	}
	return d
}

// leftUnwritten is what a rollback that is about to be recorded leaves where the workload has another template: it was not taken over
// with this one yet (mover.Native.Stale), or is scaled to 0. Nil if it has it, if it is kept, or if it is not the one that is given.
func (l *look) leftUnwritten() *v1alpha1.ResolvedTemplate {
	left := l.Release.Status.Resolved
	if left == nil || l.Given == "" || left.Given != l.Given || left.Revision != l.record.Rollback.From {
		return nil
	}
	if left.Digest == l.Workload.Digest && !l.empty || left.Digest == l.record.Resolved.Digest || l.keptAs(left.Digest) != nil {
		return nil
	}
	return left
}

// leaves reports whether a rollback in progress leaves a template.
func (l *look) leaves(kept *Kept) bool {
	return l.rollingBack() && kept.Revision != l.record.RolledBackTo()
}

// recordLeft records in the history what a rollback leaves: where the status is lost, nothing else says that it is not to be
// released again.
func recordLeft(d Decision) Decision {
	if !d.rollingBack() {
		return d
	}
	d = keepLeft(d)
	if !d.revertingDrift() {
		d, _ = markRolledBack(d, d.record.RolledBackTo())
	}
	return d
}

// leftCommit brought the revision that a rollback leaves, as far as that is known: where Git reverts it
// the status is about the revert as soon as it is written.
func (l *look) leftCommit() string {
	before := &l.Release.Status
	if l.record.Rollback.Trigger == v1alpha1.TriggerGitRevert && before.UpdateRevision != l.record.Rollback.From || l.revertingDrift() {
		return ""
	}
	return before.Commit
}

// recordStable records in the history that the workload's template is stable now. It reports whether that is done,
// or planned.
func recordStable(d Decision) (Decision, bool) {
	why := Reason("revision " + d.record.UpdateRevision + " is stable")
	kept, record := d.keptWorkload(), d.released()
	switch {
	case kept == nil:
		return keepWorkload(d, why, record)
	case kept.stable() && (d.record.Held == nil || d.revertingDrift()): // it was stable all along
	case kept.Attempt == record.Attempt && kept.Outcome == record.Outcome:
	case d.isRollback():
		back := kept.Record
		back.Outcome, back.Attempt = record.Outcome, record.Attempt
		back.StartedAt, back.ReleasedAt = record.StartedAt, record.ReleasedAt
		return d.try(UpdateRevision{Reason: why, Name: kept.Name, Number: kept.Number, Record: back})
	default:
		return d.try(UpdateRevision{Reason: why, Name: kept.Name, Number: d.nextNumber(), Record: record})
	}
	return d, true
}

// released is the record of what is being completed.
func (l *look) released() Record {
	record := l.origin(l.record.Commit)
	record.Outcome, record.Attempt = v1alpha1.OutcomeReleased, l.record.Attempt
	if l.isRollback() {
		record.Outcome = v1alpha1.OutcomeRolledBackTo
	}
	if began := l.record.StartedAt; began != nil {
		record.StartedAt = began.UTC().Format(time.RFC3339)
	}
	record.ReleasedAt = l.Now.UTC().Format(time.RFC3339)
	record.ApprovedBy, record.Forced = l.approvedBy(), l.forcedWords()
	return record
}

// origin is a commit with what the release says of it. A commit that came later is another one.
func (l *look) origin(commit string) Record {
	annotations, before := l.Release.Annotations, &l.Release.Status
	switch commit {
	case annotations[v1alpha1.CommitAnnotation]:
		return Record{
			Commit: commit, Author: annotations[v1alpha1.AuthorAnnotation], Subject: annotations[v1alpha1.SubjectAnnotation],
			CommittedAt: instant(v1alpha1.ParseCommitTime(annotations[v1alpha1.CommitTimeAnnotation], l.Now)),
		}
	case before.Commit:
		return Record{Commit: commit, Author: before.CommitAuthor, Subject: before.CommitSubject, CommittedAt: instant(before.CommitTime)}
	default:
		return Record{Commit: commit}
	}
}

// instant is a time as RFC 3339; empty where there is none.
func instant(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// maxApprovers is how long the list of those who passed gates may be, in bytes.
const maxApprovers = 256

// approvedBy are the actors of the evidence that this attempt's gates have passed on, in their order.
func (l *look) approvedBy() string {
	gates := slices.Clone(l.Gates)
	slices.SortFunc(gates, func(a, b v1alpha1.Gate) int {
		return cmp.Or(cmp.Compare(a.Spec.Step, b.Spec.Step), cmp.Compare(a.Spec.Index, b.Spec.Index))
	})
	var actors []string
	for _, gate := range gates {
		if gate.Spec.Attempt != l.record.Attempt || gate.Status.Decision != v1alpha1.DecisionPassed {
			continue
		}
		for _, evidence := range gate.Status.Evidence {
			actor := evidence.Actor
			if actor != "" && evidence.Kind == v1alpha1.EvidenceForced {
				actor += " (forced)"
			}
			if actor != "" && approves(&gate, &evidence) && !slices.Contains(actors, actor) {
				actors = append(actors, actor)
			}
		}
	}
	return within(actors, maxApprovers)
}

// approves reports whether a fact is what a gate asks for: where a gate asks for reviews, a merge alone approves nothing.
func approves(gate *v1alpha1.Gate, fact *v1alpha1.Evidence) bool {
	policy := gate.Spec.Policy.PullRequest
	return policy == nil || policy.MinApprovals == 0 || fact.Kind != v1alpha1.EvidencePullRequestMerged
}

// maxForced is how long the list of gates that were forced may be, in bytes.
const maxForced = 1024

// forcedWords says which gates were passed despite their policies, by whom and why.
func (l *look) forcedWords() string {
	var words []string
	for _, forced := range l.record.Forced {
		words = append(words, fmt.Sprintf("%s gate of batch %d by %s: %s", forced.Type, forced.Step+1, forced.By, forced.Reason))
	}
	return within(words, maxForced)
}

// within joins as many words as there is room for.
func within(words []string, limit int) string {
	const more = ", ..."
	text := strings.Join(words, ", ")
	for n := len(words); len(text) > limit; n-- {
		text = strings.TrimPrefix(strings.Join(words[:n-1], ", ")+more, ", ")
	}
	return text
}

// markRolledBack records in the history that what was stable has been rolled back to another template. It
// is no longer one to go back to. It reports whether that is done, or planned.
func markRolledBack(d Decision, to string) (Decision, bool) {
	done := true
	for _, bad := range d.wereStable(to) {
		var marked bool
		record := bad.Record
		record.Outcome, record.Attempt = v1alpha1.OutcomeRolledBack, d.record.Attempt
		d, marked = d.try(UpdateRevision{Reason: "it was rolled back", Name: bad.Name, Number: bad.Number, Record: record})
		done = done && marked
	}
	return d, done
}

// wereStable are the kept templates that a rollback puts an end to: the one that the release names as stable, and the one that it
// leaves, which a pass may have recorded as stable that died before it named it.
func (l *look) wereStable(to string) []*Kept {
	if !l.isRollback() {
		return nil
	}
	named, left := l.Release.Annotations[v1alpha1.CurrentStableAnnotation], l.record.Rollback.From
	if left == named || l.revertingDrift() { // what somebody has given the workload by hand is as good as it was
		left = ""
	}
	var bad []*Kept
	for _, revision := range []string{named, left} {
		if kept := l.stable(revision); kept != nil && revision != to {
			bad = append(bad, kept)
		}
	}
	return bad
}

// forgetOldTemplates deletes the oldest beyond the limit, but none that a rollback may name.
func forgetOldTemplates(d Decision) Decision {
	limit := defaultHistory
	if d.Release.Spec.RevisionHistoryLimit != nil {
		limit = int(*d.Release.Spec.RevisionHistoryLimit)
	}
	annotations := d.Release.Annotations
	needed := []string{
		d.Workload.Revision, d.record.StableRevision,
		annotations[v1alpha1.CurrentStableAnnotation], annotations[v1alpha1.LastStableAnnotation],
	}
	if d.quarantined() && d.record.Rollback != nil { // the history says so, where the status is lost
		needed = append(needed, d.record.Rollback.From)
	}
	oldest := slices.Clone(d.Kept)
	slices.SortFunc(oldest, func(a, b Kept) int { return cmp.Compare(a.Number, b.Number) })
	excess := len(oldest) - limit
	for _, k := range oldest {
		if excess > 0 && !slices.Contains(needed, k.Revision) {
			d = d.do(PruneRevision{Reason: "beyond revisionHistoryLimit", Name: k.Name})
			excess--
		}
	}
	return d
}
