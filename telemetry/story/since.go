package story

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Seen is the part of a release that a Teller has to keep across restarts to find out later what
// happened since. If two values are equal, no fact lies between them.
type Seen struct {
	Attempt  int64                    `json:"a,omitempty"`
	Phase    v1alpha1.Phase           `json:"p,omitempty"`
	State    v1alpha1.ReleaseState    `json:"s,omitempty"`
	Stopped  v1alpha1.StopCause       `json:"x,omitempty"`
	Stalled  v1alpha1.StallCause      `json:"y,omitempty"`
	Trigger  v1alpha1.RollbackTrigger `json:"t,omitempty"`
	From     string                   `json:"f,omitempty"`
	Revision string                   `json:"r,omitempty"`
	Commit   string                   `json:"c,omitempty"`
	Adopted  bool                     `json:"o,omitempty"`
	// Step counts from 1; 0 before the first was entered. StepState is the state of that step.
	Step      int32              `json:"i,omitempty"`
	StepState v1alpha1.StepState `json:"j,omitempty"`
	// Started and StepStarted are Unix times.
	Started     int64 `json:"b,omitempty"`
	StepStarted int64 `json:"d,omitempty"`
}

// See returns what to keep of a release now. For a release that is not in progress, that is little.
func See(release *v1alpha1.BatchRelease) Seen {
	s := &release.Status
	seen := Seen{Attempt: s.Attempt, Phase: s.Phase, State: s.State, Stopped: s.Stops(), Stalled: s.StalledBy}
	if s.Rollback != nil {
		seen.Trigger = s.Rollback.Trigger
	}
	if !underWay(s) {
		return seen
	}
	seen.Revision, seen.Commit, seen.Started, seen.Adopted = s.UpdateRevision, s.Commit, unix(s.StartedAt), s.Adopted
	if s.Rollback != nil {
		seen.From = s.Rollback.From
	}
	if s.Entered() {
		seen.Step, seen.StepState, seen.StepStarted = s.CurrentStepIndex+1, stepState(s), unix(s.StepStartedAt)
	}
	return seen
}

// stepState returns the state of the current step without the confirmation of users, whose meaning
// depends on the gates.
func stepState(s *v1alpha1.BatchReleaseStatus) v1alpha1.StepState {
	switch {
	case s.CurrentStepState != v1alpha1.StepCompleted:
		return s.CurrentStepState
	case stepDone(s):
		return v1alpha1.StepBlocking
	default:
		return v1alpha1.StepUpgrade
	}
}

// Since returns the events of a release since its last seen state. Before is the previous version,
// if it is known. If it differs from the last seen state, versions were missed: then the status
// still shows the facts that are returned.
func Since(seen Seen, before, after *v1alpha1.BatchRelease, now time.Time) []Fact {
	if before != nil && before.UID == after.UID && See(before) == seen {
		return OfRelease(before, after, now)
	}
	if See(after) == seen {
		return nil
	}
	path := append(between(seen, after), after)
	var facts []Fact
	for i, from := range path[:len(path)-1] {
		facts = append(facts, OfRelease(from, path[i+1], now)...)
	}
	return facts
}

// between returns the versions of a release that lead from what was seen to the current one, in
// order, without the current one. OfRelease finds the batches that lie between them.
func between(seen Seen, after *v1alpha1.BatchRelease) []*v1alpha1.BatchRelease {
	was := seen.release(after)
	path := []*v1alpha1.BatchRelease{was}
	if seen.Attempt == after.Status.Attempt || !begun(&after.Status) {
		return path
	}
	first := after.DeepCopy()
	first.Status.Phase, first.Status.State = v1alpha1.PhaseInitial, v1alpha1.StateStarting
	first.Status.StoppedBy, first.Status.StalledBy = nil, ""
	first.Status.CurrentStepIndex, first.Status.CurrentStepState, first.Status.StepStartedAt = 0, "", nil
	return append(path, first)
}

// release returns the release as it was seen, completed with what is known now.
func (s Seen) release(now *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	was := now.DeepCopy()
	if s.Attempt != now.Status.Attempt {
		was.Status = v1alpha1.BatchReleaseStatus{Attempt: s.Attempt, UpdateRevision: s.Revision, Commit: s.Commit, StartedAt: timeAt(s.Started)}
	}
	status := &was.Status
	status.Phase, status.State, status.StalledBy = s.Phase, s.State, s.Stalled
	status.StoppedBy = nil
	if s.Stopped != "" {
		status.StoppedBy = []v1alpha1.StopCause{s.Stopped}
	}
	status.Rollback = nil
	if s.Trigger != "" {
		status.Rollback = &v1alpha1.RollbackRecord{Trigger: s.Trigger, From: s.From}
	}
	if s.Attempt == now.Status.Attempt && !underWay(status) {
		return was // its steps were not kept: they are those that it completed with
	}
	status.Adopted = s.Adopted
	status.CurrentStepIndex, status.CurrentStepState, status.StepStartedAt = 0, "", nil
	if s.Step > 0 {
		status.CurrentStepIndex, status.CurrentStepState, status.StepStartedAt = s.Step-1, s.StepState, &metav1.Time{}
		if s.StepStarted > 0 {
			status.StepStartedAt = timeAt(s.StepStarted)
		}
	}
	return was
}

func unix(t *metav1.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func timeAt(seconds int64) *metav1.Time {
	if seconds == 0 {
		return nil
	}
	return &metav1.Time{Time: time.Unix(seconds, 0)}
}
