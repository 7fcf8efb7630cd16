package metrics

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// Tell counts facts. It implements telemetry.Teller.
func (m *Metrics) Tell(facts []story.Fact) {
	now := m.clock.Now()
	m.count(facts, now)
	m.unscraped(now)
}

func (m *Metrics) count(facts []story.Fact, now time.Time) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for i := range facts {
		m.note(facts[i].Release.Namespace, now)
		m.tell(&facts[i])
	}
}

// Forget forgets a release whose object is gone: of one that ended, its deletion is no fact. It
// implements telemetry.Forgetter.
func (m *Metrics) Forget(release types.UID) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.bad, release)
	delete(m.failed, release)
}

func (m *Metrics) tell(f *story.Fact) {
	if !f.Own() {
		return
	}
	switch f.Kind {
	case story.BatchDone:
		m.batchDone(f)
	case story.GatePassed, story.GateRejected:
		m.gates.WithLabelValues(gateType(f.Gate.Type), decision(f.Kind)).Observe(seconds(f.Took()))
	case story.ReleaseCompleted:
		m.end(f, completed)
		if took, sane := sinceCommit(f); sane {
			m.leadTime.WithLabelValues(f.Release.Namespace).Observe(seconds(took))
		}
		m.good(f)
	case story.ReleaseAdopted: // nothing was released, but what runs now is what is meant to
		m.good(f)
	case story.RolledBack:
		m.end(f, m.wayBack(f))
		m.good(f)
	case story.ReleaseFailed:
		m.misses(f)
	case story.ReleaseSuperseded:
		m.superseded(f)
	case story.ReleaseStarted:
		delete(m.failed, f.UID)
	case story.JumpedBack:
		m.goesOn(f, f.Attempt+1)
	case story.RollbackStarted:
		m.rollbacks.WithLabelValues(f.Release.Namespace, string(f.Trigger)).Inc()
		m.leaves(f)
		m.turnsBad(f)
	case story.ReleaseDeleted:
		m.end(f, deleted)
		delete(m.bad, f.UID)
		delete(m.failed, f.UID)
	case story.BatchStarted, story.GateOpened, story.GateUndecided, story.ApprovalRefused, story.ReleaseStopped, story.ReleaseResumed, story.Drifted:
	}
}

// maxBatch is the last batch for which the time from the commit is measured, in a series of its
// own.
const maxBatch = 50

func (m *Metrics) batchDone(f *story.Fact) {
	if f.Since.IsZero() { // its pods existed before
		return
	}
	m.batches.WithLabelValues(f.Release.Namespace).Observe(seconds(f.Took()))
	if took, sane := sinceCommit(f); sane && f.Batch >= 1 && f.Batch <= maxBatch {
		m.commitToBatch.WithLabelValues(strconv.Itoa(f.Batch)).Observe(seconds(took))
	}
}

// wayBack returns the outcome of a rollback.
func (m *Metrics) wayBack(f *story.Fact) string {
	_, before := m.failed[f.UID]
	switch {
	case f.Trigger == v1alpha1.TriggerDrift:
		return restored
	case before:
		return failedRolledBack
	default:
		return rolledBack
	}
}

func (m *Metrics) end(f *story.Fact, outcome string) {
	m.ends.WithLabelValues(f.Release.Namespace, outcome).Inc()
	if !f.Since.IsZero() {
		m.releases.WithLabelValues(outcome).Observe(seconds(f.Took()))
	}
}

// seconds returns a duration within bounds: people can write these times too.
func seconds(took time.Duration) float64 { return min(max(took, 0), oldest).Seconds() }

// oldest is the maximum age of a commit for measurements: an older one was not made for this
// release.
const oldest = 365 * 24 * time.Hour

// sinceCommit returns the time from the commit of a release to a fact. A rollback has none: its
// commit is the one that it rolls back.
func sinceCommit(f *story.Fact) (took time.Duration, sane bool) {
	took = f.Time.Sub(f.CommittedAt)
	return took, !f.CommittedAt.IsZero() && f.Trigger == "" && took < oldest
}

// fails notes that a release has failed. It reports whether that is news: one that is retried can
// fail again, and so can the rollback of one that has failed, which is no other change that failed.
func (m *Metrics) fails(f *story.Fact) bool {
	attempt, before := m.failed[f.UID]
	if before && (attempt == f.Attempt || f.Trigger != "") {
		return false
	}
	if before || len(m.failed) < maxBad {
		m.failed[f.UID] = f.Attempt
	}
	return true
}

// misses counts a release that missed its deadline. The way back of what drifted is no release.
func (m *Metrics) misses(f *story.Fact) {
	if f.Trigger == v1alpha1.TriggerDrift {
		return
	}
	if m.fails(f) {
		m.end(f, failed)
	}
	m.turnsBad(f)
}

// superseded counts a release that another one, or another rollback, superseded. The version that a
// rollback left stays known until it is clear which.
func (m *Metrics) superseded(f *story.Fact) {
	m.end(f, superseded)
	if f.Trigger == "" {
		delete(m.failed, f.UID)
	}
	if f.Failed && f.Trigger != v1alpha1.TriggerDrift {
		m.turnsBad(f)
	}
}

// leaves notes whether a rollback leaves a release that had failed, and was counted as that. One
// that was retried has failed all the same, until it completes.
func (m *Metrics) leaves(f *story.Fact) {
	if m.goesOn(f, f.Attempt) {
		return
	}
	delete(m.failed, f.UID)
	if f.Failed {
		m.fails(f)
	}
}

// goesOn reports whether the attempt before another one has failed, and takes that over to the
// other one, which is about the same change.
func (m *Metrics) goesOn(f *story.Fact, attempt int64) bool {
	last, before := m.failed[f.UID]
	if !before || last != attempt-1 {
		return false
	}
	m.failed[f.UID] = attempt
	return true
}

// maxBad bounds the releases in Metrics.bad.
const maxBad = 10_000

// turnsBad notes since when a workload has run a bad version.
func (m *Metrics) turnsBad(f *story.Fact) {
	_, known := m.bad[f.UID]
	if !known && !f.Since.IsZero() && len(m.bad) < maxBad {
		m.bad[f.UID] = f.Since
	}
}

// good ends the time to restore.
func (m *Metrics) good(f *story.Fact) {
	delete(m.failed, f.UID)
	since, bad := m.bad[f.UID]
	if !bad {
		return
	}
	delete(m.bad, f.UID)
	m.toRestore.WithLabelValues(f.Release.Namespace).Observe(seconds(f.Time.Sub(since)))
}

// gateType returns a type as a label: types of other controllers can have any name.
func gateType(kind v1alpha1.GateType) string {
	if !slices.Contains(gateTypes, kind) {
		kind = otherType
	}
	return string(kind)
}

func decision(kind story.Kind) string {
	if kind == story.GateRejected {
		return string(v1alpha1.DecisionRejected)
	}
	return string(v1alpha1.DecisionPassed)
}
