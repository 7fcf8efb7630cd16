package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Forecast is the result of the steps of a release if nothing else happens.
type Forecast struct {
	// Surge and Unavailable are how many pods there may be beyond spec.replicas, or fewer.
	Surge, Unavailable int32
	Batches            []Batch
}

// Batch is the result of one step.
type Batch struct {
	// Pods run the new template when the step is done, New more than before it.
	Pods, New int32
	// Gates are the ones that the release waits for then, including those that a user need not
	// name.
	Gates []v1alpha1.GatePolicy
	// Weight is the percentage of requests that the new version then gets: that of the step, or
	// what its pods are enough for, if no more of them would come. 0 where no route shares
	// requests.
	Weight int32
	// Short says that the pods are not enough for that, and that requests wait for more.
	Short bool
}

// ForecastOf computes the result of the steps of a release, or of a rollback of it, for a workload
// that keeps its size. The steps must be valid.
func ForecastOf(release *v1alpha1.BatchRelease, workload *Workload, rollback bool) Forecast {
	s := snapshotWith(Observation{Release: release, Workload: workload}, record{})
	if rollback {
		s.record.Rollback = &v1alpha1.RollbackRecord{}
	}
	bounds := s.steps().widest()
	forecast := Forecast{Surge: bounds.Surge, Unavailable: bounds.Unavailable}
	reached := int32(0)
	for i, step := range release.Spec.Steps(rollback) {
		share, _ := parseShare(step.Replicas)
		target := max(share.entered(workload.Replicas), reached)
		s.record.CurrentStepIndex = int32(i)
		batch := Batch{Pods: target, New: target - reached, Gates: release.Spec.Gates(rollback, i)}
		batch.Weight, batch.Short = foreseeTraffic(s, target)
		forecast.Batches = append(forecast.Batches, batch)
		reached = target
	}
	return forecast
}

// foreseeTraffic returns the weight that the current step gives a number of pods, and whether that
// waits for more of them.
func foreseeTraffic(s *snapshot, pods int32) (int32, bool) {
	weight, shared := s.release.Spec.TrafficOf(s.record.isRollback(), int(s.steps().index()))
	if !shared || pods == 0 && !s.steps().last() {
		return 0, false
	}
	weight = affordableWeight(s, weight, pods)
	least := int64(s.workload.Replicas - s.steps().bounds().Unavailable)
	return weight, !s.release.Spec.Strategy.Traffic.AllowOverload && int64(pods)*percent < int64(weight)*least
}

// Shares returns the replicas of the steps of a release, or of a rollback of it, as they are
// written.
func Shares(release *v1alpha1.BatchRelease, rollback bool) []string {
	var shares []string
	for _, step := range release.Spec.Steps(rollback) {
		shares = append(shares, step.Replicas.String())
	}
	return shares
}

// What a release makes of a request can be known before anybody makes it. The functions of this
// file go by the record of the release alone, and by the same rules as Next.

// asRecorded returns a release of which only the record is known. The template of its workload is
// known after the take-over, or once the release has completed. Its pods are unknown.
func asRecorded(release *v1alpha1.BatchRelease, kept []Kept) *snapshot {
	r := recordOf(release)
	w := &Workload{Name: release.Spec.WorkloadRef.Name, UID: r.WorkloadUID}
	if r.Held != nil || r.Phase == v1alpha1.PhaseCompleted {
		w.Revision = r.UpdateRevision
	}
	o := Observation{Release: release, Workload: w}
	o.Kept = kept
	return snapshotWith(o, r)
}

// RollsBackTo returns the revision that a rollback in progress goes to; empty if none is in
// progress.
func RollsBackTo(release *v1alpha1.BatchRelease) string {
	if s := asRecorded(release, nil); s.record.rollingBack() {
		return s.record.UpdateRevision
	}
	return ""
}

// Before returns the revision that rollback=true goes back to, by the status; empty if there is
// none.
func Before(release *v1alpha1.BatchRelease) string { return rollbackRevision(asRecorded(release, nil)) }

// Target returns the template that a rollback to a revision or commit goes to. The error says why
// there is none.
func Target(release *v1alpha1.BatchRelease, kept []Kept, asked string) (*Kept, error) {
	target, problem := rollbackTarget(asRecorded(release, kept), asked)
	if target == nil {
		return nil, problem
	}
	return target, nil
}

// JumpProblemOf returns why a release can't go to a step, counted from 0; 0 if it can.
func JumpProblemOf(release *v1alpha1.BatchRelease, to int32) JumpProblem {
	return jumpProblem(asRecorded(release, nil), to)
}

// Stable returns the templates that a release can be rolled back to, the newest first.
func Stable(all []Kept) []Kept {
	stable := slices.DeleteFunc(slices.Clone(all), func(k Kept) bool { return !k.stable() })
	slices.SortFunc(stable, func(a, b Kept) int { return cmp.Compare(b.Number, a.Number) })
	return stable
}

// String names a template for people.
func (k *Kept) String() string {
	if k.Commit == "" {
		return k.Revision
	}
	return k.Revision + " (commit " + plain.Commit(k.Commit) + ")"
}

// Admission says what happens to a template that a release is given.
type Admission string

// The admissions.
const (
	// Begins: nothing is in its way.
	Begins Admission = "Begins"
	// Supersedes: it replaces the attempt in progress.
	Supersedes Admission = "Supersedes"
	// Queues: the attempt in progress is finished first.
	Queues Admission = "Queues"
	// Waits: the release is stopped.
	Waits Admission = "Waits"
	// Known: it is the template of the present or the last release.
	Known Admission = "Known"
	// Quarantined: it was rolled back, and is not released again until another one is given.
	Quarantined Admission = "Quarantined"
)

// AdmissionOf returns what happens to a template if the release is given it now, and why if it has
// to wait. The template is identified by its digest as given, and assumed to be new: one that was
// stable before waits for nothing. The release has its status and the rules that it is going to
// have; the workload may be nil.
func AdmissionOf(release *v1alpha1.BatchRelease, workload *Workload, given string, now time.Time) (admission Admission, why string) {
	s := snapshotWith(Observation{Now: now, Release: release, Workload: workload, Given: given}, recordOf(release))
	current := s.record.Resolved
	switch stop := stopCauses(s); {
	case isQuarantined(s):
		return Quarantined, ""
	case current != nil && current.Given == given:
		return Known, ""
	case stop.any():
		return Waits, stop.words(s)
	case finishesFirst(s):
		return Queues, ""
	case workload != nil && workload.heldBy(release) && !s.record.completed():
		return Supersedes, ""
	}
	return Begins, ""
}
