package plan

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// value is the state as the status has it. Only telling it needs the states; what decides has the State itself.
func (t *telling) value() v1alpha1.ReleaseState {
	switch s := t.state.(type) {
	case Absent:
		return v1alpha1.StateWorkloadNotFound
	case WorkloadHeld:
		return v1alpha1.StateWorkloadHeld
	case Idle:
		if s.Because == RolledBack {
			return v1alpha1.StateQuarantined
		}
		return v1alpha1.StateIdle
	case Completed:
		return v1alpha1.StateCompleted
	case Drifted:
		return v1alpha1.StateDrifted
	case Waiting, Preparing:
		return v1alpha1.StateWaiting
	case PastGit:
		return v1alpha1.StateChangedPastGit
	case Stopped:
		return v1alpha1.StateStopped
	case Failed:
		return v1alpha1.StateFailed
	case Blocked:
		return valueBlocked(s.By)
	case Paused:
		return v1alpha1.StatePausePoint
	case Rolling:
		return v1alpha1.StateRolling
	case Shifting:
		return v1alpha1.StateShifting
	case Finishing:
		return v1alpha1.StateFinishing
	case Arriving:
		return t.valueArriving(s.At)
	case Starting:
		return t.valueStarting(s.At)
	case Entering, Leaving, Unsecured, Replaced:
	}
	return v1alpha1.StateStarting
}

func valueBlocked(by []waitingGate) v1alpha1.ReleaseState {
	switch {
	case rejectedOf(by) != nil:
		return v1alpha1.StateRejected
	case refusedOf(by):
		return v1alpha1.StateApprovalRefused
	default:
		return v1alpha1.StateBlocked
	}
}

func (t *telling) valueArriving(at Arrival) v1alpha1.ReleaseState {
	switch {
	case at == NativeRollout:
		return v1alpha1.StateNativeRollout
	case at == Arrived && t.record.Held != nil:
		return v1alpha1.StateFinishing
	default:
		return v1alpha1.StateStarting
	}
}

// valueStarting is that of a workload which is to be taken over, or taken over again: a release that has failed, or is in a
// step, stays what it is meanwhile.
func (t *telling) valueStarting(at Start) v1alpha1.ReleaseState {
	switch {
	case at == NotAsInGit:
		return valueBlocked([]waitingGate{t.waitsForUnseen()})
	case at == WillNotFit:
		return v1alpha1.StateWillNotFit
	case at == Ready && t.failed():
		return v1alpha1.StateFailed
	case at == Ready && t.entered():
		return v1alpha1.StateRolling
	default:
		return v1alpha1.StateStarting
	}
}

// causes are the causes as the status has them.
func (s Stop) causes() []v1alpha1.StopCause {
	var causes []v1alpha1.StopCause
	for _, cause := range s {
		causes = append(causes, causeValue(cause))
	}
	return causes
}

func causeValue(cause Cause) v1alpha1.StopCause {
	switch cause.(type) {
	case UnreadableSteps:
		return v1alpha1.StopInvalidStrategy
	case Suspended:
		return v1alpha1.StopSuspended
	case Frozen:
		return v1alpha1.StopFrozen
	case Changed:
		return v1alpha1.StopWorkloadChanged
	case ChangedPastGit:
		return v1alpha1.StopChangedPastGit
	}
	return ""
}
