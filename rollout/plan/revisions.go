package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// defaultHistory is how many templates are kept unless the release says otherwise.
const defaultHistory = 10

// keepWorkload keeps the workload's template with a record, in one write. It reports whether that
// is planned.
func keepWorkload(d Decision, why Reason, record Record) (Decision, bool) {
	return d.try(RecordRevision{
		Reason: why, Revision: d.snap.workload.Revision, Digest: d.snap.workload.Digest,
		Number: d.snap.history.nextNumber(), Record: record,
	})
}

// keptWorkload returns the kept template that the workload has; nil if it is not kept.
func keptWorkload(s *snapshot) *Kept {
	if kept := s.history.of(s.workload.Revision); kept != nil && kept.Digest == s.workload.Digest {
		return kept
	}
	return nil
}

// keepBefore keeps what runs before a release, to roll back to. It reports whether that is done, or
// planned.
func keepBefore(d Decision) (Decision, bool) {
	const why Reason = "kept to roll back to"
	record := Record{Outcome: v1alpha1.OutcomeAdopted, Attempt: d.snap.release.Status.Attempt}
	kept := keptWorkload(d.snap)
	switch {
	case kept == nil:
		return keepWorkload(d, why, record)
	case !kept.stable() && !d.snap.record.leaves(kept): // somebody has rolled it out by hand since
		return d.try(UpdateRevision{Reason: why, Name: kept.Name, Number: d.snap.history.nextNumber(), Record: record})
	default:
		return d, true
	}
}

// keepLeft keeps a template that is rolled back in mid-release, for the record.
func keepLeft(d Decision) Decision {
	const why Reason = "rolled back: kept for the record"
	if d.snap.record.Rollback == nil {
		return d
	}
	record := origin(d.snap, leftCommit(d.snap))
	record.Outcome, record.Attempt = v1alpha1.OutcomeRolledBack, d.snap.record.Attempt
	switch w, unwritten := d.snap.workload, unwrittenTemplate(d.snap); {
	case !d.snap.empty && w.Revision == d.snap.record.Rollback.From && w.Digest != d.snap.record.Resolved.Digest && keptWorkload(d.snap) == nil:
		d, _ = keepWorkload(d, why, record)
	case follows(d.snap) && unkeptOf(d.snap, d.snap.record.Rollback.From):
		d, _ = d.try(RecordRevision{
			Reason: why, Template: &Template{Revision: d.snap.record.Rollback.From}, Revision: d.snap.record.Rollback.From, Digest: leftDigest(d.snap),
			Number: d.snap.history.nextNumber(), Record: record,
		})
	case unwritten != nil:
		d, _ = d.try(RecordRevision{
			Reason: why, Template: &Template{Given: true}, Given: unwritten.Given, Revision: unwritten.Revision, Digest: unwritten.Digest,
			Number: d.snap.history.nextNumber(), Record: record,
		})
	}
	return d
}

// unkeptOf reports whether the template of a revision is not kept, and its pods have it.
func unkeptOf(s *snapshot, revision string) bool {
	return revision != "" && s.history.of(revision) == nil && (s.workload.Mover.Has(revision) || s.workload.Mover.Runs(revision) > 0) && leftDigest(s) != ""
}

// leftDigest returns the digest of the template that a rollback leaves, by the stored status; empty
// if that is about another one.
func leftDigest(s *snapshot) string {
	if left := s.release.Status.Resolved; left != nil && s.release.Status.UpdateRevision == s.record.Rollback.From {
		return left.Digest
	}
	return ""
}

// unwrittenTemplate returns the template being rolled back if the workload never received it: it
// was not taken over with it yet (mover.Native.Stale), or is scaled to 0. It is nil if the workload
// has it, if it is kept, or if it is not the given one.
func unwrittenTemplate(s *snapshot) *v1alpha1.ResolvedTemplate {
	left := s.release.Status.Resolved
	if left == nil || s.given == "" || left.Given != s.given || left.Revision != s.record.Rollback.From {
		return nil
	}
	if left.Digest == s.workload.Digest && !s.empty || left.Digest == s.record.Resolved.Digest || s.history.withDigest(left.Digest) != nil {
		return nil
	}
	return left
}

// recordLeft records in the history what a rollback leaves: if the status is lost, nothing else
// keeps it from being released again.
func recordLeft(d Decision) Decision {
	if !d.snap.record.rollingBack() {
		return d
	}
	d = keepLeft(d)
	if !d.snap.record.revertsDrift() {
		d, _ = markRolledBack(d, d.snap.record.RolledBackTo())
	}
	return d
}

// leftCommit returns the commit of the revision that a rollback leaves; empty if unknown. After a
// revert in Git the status is about the revert as soon as it is written.
func leftCommit(s *snapshot) string {
	before := &s.release.Status
	if s.record.Rollback.Trigger == v1alpha1.TriggerGitRevert && before.UpdateRevision != s.record.Rollback.From || s.record.revertsDrift() {
		return ""
	}
	return before.Commit
}

// recordStable records in the history that the workload's template is stable now. It reports
// whether that is done, or planned.
func recordStable(d Decision) (Decision, bool) {
	why := Reason("revision " + d.snap.workload.Revision + " is stable")
	kept, record := keptWorkload(d.snap), releasedRecord(d.snap)
	switch {
	case kept == nil:
		return keepWorkload(d, why, record)
	case kept.stable() && (d.snap.record.Held == nil || d.snap.record.revertsDrift()): // it was stable all along
	case kept.Attempt == record.Attempt && kept.Outcome == record.Outcome:
	case d.snap.record.isRollback():
		back := kept.Record
		back.Outcome, back.Attempt = record.Outcome, record.Attempt
		back.StartedAt, back.ReleasedAt = record.StartedAt, record.ReleasedAt
		return d.try(UpdateRevision{Reason: why, Name: kept.Name, Number: kept.Number, Record: back})
	default:
		return d.try(UpdateRevision{Reason: why, Name: kept.Name, Number: d.snap.history.nextNumber(), Record: record})
	}
	return d, true
}

// releasedRecord returns the record of the attempt that completes.
func releasedRecord(s *snapshot) Record {
	record := origin(s, s.record.Commit)
	record.Outcome, record.Attempt = v1alpha1.OutcomeReleased, s.record.Attempt
	record.Claimed = record.Commit != "" && claimsCommit(s)
	if s.record.isRollback() {
		record.Outcome = v1alpha1.OutcomeRolledBackTo
	}
	if began := s.record.StartedAt; began != nil {
		record.StartedAt = began.UTC().Format(time.RFC3339)
	}
	record.ReleasedAt = s.now.UTC().Format(time.RFC3339)
	record.ApprovedBy, record.Forced = s.gates().approvedBy(), s.record.forcedWords()
	if r := s.ride(); r.at != nil && r.at.Attempt == r.train.Status.Attempt && !s.record.isRollback() { // its train asks its gates
		asked := recordOf(r.train)
		record.ApprovedBy, record.Forced = asked.Run.ApprovedBy, asked.forcedWords()
	}
	return record
}

// origin returns a commit with what the release says of it. A commit that came later is another
// one.
func origin(s *snapshot, commit string) Record {
	annotations, before := s.release.Annotations, &s.release.Status
	switch commit {
	case annotations[v1alpha1.CommitAnnotation]:
		return Record{
			Commit: commit, Author: annotations[v1alpha1.AuthorAnnotation], Subject: annotations[v1alpha1.SubjectAnnotation],
			CommittedAt: instant(v1alpha1.ParseCommitTime(annotations[v1alpha1.CommitTimeAnnotation], s.now)),
			Reference:   v1alpha1.ParseReference(annotations[v1alpha1.ReferenceAnnotation]).Text(),
		}
	case before.Commit:
		return Record{Commit: commit, Author: before.CommitAuthor, Subject: before.CommitSubject, CommittedAt: instant(before.CommitTime),
			Reference: before.CommitReference.Text()}
	default:
		return Record{Commit: commit}
	}
}

// instant formats a time as RFC 3339; nil as the empty string.
func instant(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// maxForced limits the list of gates that were forced, in bytes.
const maxForced = 1024

// within joins as many words as there is room for.
func within(words []string, limit int) string {
	const more = ", ..."
	text := strings.Join(words, ", ")
	for n := len(words); len(text) > limit; n-- {
		text = strings.TrimPrefix(strings.Join(words[:n-1], ", ")+more, ", ")
	}
	return text
}

// markRolledBack records in the history that stable templates have been rolled back to another one,
// and are none to roll back to. It reports whether that is done, or planned.
func markRolledBack(d Decision, to string) (Decision, bool) {
	done := true
	for _, bad := range revisionsToMarkBad(d.snap, to) {
		var marked bool
		record := bad.Record
		record.Outcome, record.Attempt = v1alpha1.OutcomeRolledBack, d.snap.record.Attempt
		d, marked = d.try(UpdateRevision{Reason: "it was rolled back", Name: bad.Name, Number: bad.Number, Record: record})
		done = done && marked
	}
	return d, done
}

// revisionsToMarkBad returns the history entries to mark as rolled back: the one that the release
// names as stable, and the one that the rollback leaves, which a pass may have recorded as stable
// before it named it. The template that the rollback goes to is good by any name.
func revisionsToMarkBad(s *snapshot, to string) []*Kept {
	if !s.record.isRollback() {
		return nil
	}
	named, left := s.release.Annotations[v1alpha1.CurrentStableAnnotation], s.record.Rollback.From
	if left == named || s.record.revertsDrift() { // what somebody has given the workload by hand is as good as it was
		left = ""
	}
	var bad []*Kept
	for _, revision := range []string{named, left} {
		if kept := s.history.stable(revision); kept != nil && revision != to && !s.record.releases(kept.Digest) {
			bad = append(bad, kept)
		}
	}
	return bad
}

// forgetOldTemplates deletes the oldest templates beyond the limit, but none that a rollback may
// name.
func forgetOldTemplates(d Decision) Decision {
	limit := defaultHistory
	if d.snap.release.Spec.RevisionHistoryLimit != nil {
		limit = int(*d.snap.release.Spec.RevisionHistoryLimit)
	}
	annotations := d.snap.release.Annotations
	needed := []string{
		d.snap.workload.Revision, d.snap.record.StableRevision,
		annotations[v1alpha1.CurrentStableAnnotation], annotations[v1alpha1.LastStableAnnotation],
	}
	if isQuarantined(d.snap) && d.snap.record.Rollback != nil { // the history says so, where the status is lost
		needed = append(needed, d.snap.record.Rollback.From)
	}
	oldest := slices.Clone(d.snap.history)
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
