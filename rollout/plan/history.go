package plan

import (
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// history holds the templates that are kept, as ControllerRevisions, to roll back to.
type history []Kept

// of returns the kept template of a revision; nil if there is none.
func (h history) of(revision string) *Kept {
	i := slices.IndexFunc(h, func(k Kept) bool { return k.Revision == revision })
	if revision == "" || i < 0 {
		return nil
	}
	return &h[i]
}

// stable returns the kept template of a revision that may be rolled back to; nil if there is none.
func (h history) stable(revision string) *Kept {
	if kept := h.of(revision); kept != nil && kept.stable() {
		return kept
	}
	return nil
}

// withDigest returns the template of a digest that was kept last; nil if there is none. Another
// version of Kubernetes may have kept it under another revision.
func (h history) withDigest(digest string) *Kept {
	return h.newest(func(k *Kept) bool { return k.Digest == digest })
}

// newest returns the template with the highest number among those that match; nil if none does.
func (h history) newest(matches func(*Kept) bool) *Kept {
	var last *Kept
	for i := range h {
		if k := &h[i]; matches(k) && (last == nil || k.Number > last.Number) {
			last = k
		}
	}
	return last
}

// stableBefore returns the newest stable revision kept before a number, except the bad one; empty
// if there is none.
func (h history) stableBefore(number int64, bad string) string {
	return revisionOf(h.newest(func(k *Kept) bool { return k.stable() && k.Number < number && k.Revision != bad }))
}

// revisionOf returns the revision of a kept template; empty for nil.
func revisionOf(k *Kept) string {
	if k == nil {
		return ""
	}
	return k.Revision
}

// nextNumber returns a number higher than all kept ones, at least 1.
func (h history) nextNumber() int64 {
	number := int64(1)
	for _, k := range h {
		number = max(number, k.Number+1)
	}
	return number
}

// stableCommit returns the commit that ran before the release: the stable revision's or, where a
// person rolled that out without Git, or its commit is a claim, the one that was released last.
func (h history) stableCommit(stable, update string) string {
	known := func(k *Kept) bool { return k.Commit != "" && !k.Claimed }
	if kept := h.of(stable); kept != nil && known(kept) {
		return kept.Commit
	}
	if last := h.newest(func(k *Kept) bool { return k.stable() && known(k) && k.Revision != update }); last != nil {
		return last.Commit
	}
	return ""
}

// named returns the stable template with a revision, or else with a commit, of this name; nil and
// the problem if there is none.
func (h history) named(asked string) (*Kept, targetProblem) {
	if kept := h.of(asked); kept != nil {
		if kept.stable() {
			return kept, 0
		}
		return nil, wasRolledBack
	}
	commit := strings.ToLower(asked)
	if !abbreviated.MatchString(commit) {
		return nil, unknownRevision
	}
	var found []*Kept
	for i := range h {
		if k := &h[i]; k.stable() && strings.HasPrefix(k.Commit, commit) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 0:
		return nil, unknownCommit
	case 1:
		return found[0], 0
	default:
		return nil, ambiguousCommit
	}
}

// Kept is a template that is kept as a ControllerRevision.
type Kept struct {
	// Name of the ControllerRevision.
	Name     string
	Revision string
	Digest   string
	// Number grows with each template that is kept, or released again.
	Number int64
	Record
}

// Record holds what the history says of a template.
type Record struct {
	Outcome v1alpha1.Outcome
	// Attempt is the one that had the outcome.
	Attempt int64
	// Commit brought the template. Author and Subject are the commit's claims.
	Commit, Author, Subject string
	// CommittedAt is the commit's own time as RFC 3339; empty if unknown.
	CommittedAt string
	// Reference is the ReferenceCommit of the commit as JSON; empty if it has none.
	Reference string
	// Claimed reports whether the applier of a followed workload named Commit.
	Claimed bool
	// StartedAt is when the release or rollback with the outcome began, as RFC 3339.
	StartedAt string
	// ReleasedAt is when the template became stable, as RFC 3339; empty if it never did.
	ReleasedAt string
	// ApprovedBy lists the users who passed the gates of its release.
	ApprovedBy string
	// Forced lists the gates of its release that were passed despite their policies, with the user
	// and the reason.
	Forced string
}

// stable reports whether the template may be rolled back to. A template that was rolled back needs
// its gates again.
func (k *Kept) stable() bool { return k.Outcome != v1alpha1.OutcomeRolledBack }

// olderThan reports whether a template was stable before another one.
func (k *Kept) olderThan(other *Kept) bool { return k != nil && k.stable() && k.Number < other.Number }

// statusLost reports whether the status was lost: there is none, but the history has templates of
// earlier releases.
func statusLost(s *snapshot) bool {
	return s.record.Resolved == nil && s.record.Attempt == 0 && len(s.history) > 0
}

// recallRollback continues a rollback that only the history knows of because the status was lost,
// or records that it completed: the template is not released again. It reports whether there was
// one.
func recallRollback(d Decision, template *v1alpha1.ResolvedTemplate) (Decision, bool) {
	bad := d.snap.history.withDigest(template.Digest)
	if !statusLost(d.snap) || bad == nil || bad.stable() {
		return d, false
	}
	if !d.snap.live(ReadKept) { // the cache may be from before it was released again
		return d.read(ReadKept), true
	}
	target := lastGood(d.snap)
	if target == nil {
		return d, false
	}
	d = rollBack(d.snap, target, v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerHistory, Message: "the status was lost, and the history says that this was rolled back",
	})
	return d.with(func(r *record) {
		why := *r.Rollback
		why.From, why.Digest = bad.Revision, bad.Digest
		r.Rollback = &why
	}), true
}

// lastGood returns the template to roll back to if only the history knows: the workload's own, if
// that was stable, else the last stable one; nil if there is none.
func lastGood(s *snapshot) *Kept {
	if kept := keptWorkload(s); kept != nil && kept.stable() {
		return kept
	}
	if kept := s.history.stable(s.release.Annotations[v1alpha1.CurrentStableAnnotation]); kept != nil {
		return kept
	}
	var last *Kept
	for i := range s.history {
		if k := &s.history[i]; k.stable() && (last == nil || k.Number > last.Number) {
			last = k
		}
	}
	return last
}
