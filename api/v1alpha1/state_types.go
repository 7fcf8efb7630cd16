package v1alpha1

import "slices"

// ReleaseState is the state of a release: its present activity, or the thing for which it waits.
//
// +kubebuilder:validation:Enum=WorkloadNotFound;WorkloadHeld;Idle;Quarantined;Completed;Drifted;Waiting;ChangedPastGit;NativeRollout;Starting;WillNotFit;Rolling;PausePoint;Blocked;ApprovalRefused;Rejected;Stopped;Failed;Shifting;Finishing;WaitingForTrain
type ReleaseState string

// The states of a release. The message says more about each.
const (
	// StateWorkloadNotFound: the workload does not exist.
	StateWorkloadNotFound ReleaseState = "WorkloadNotFound"
	// StateWorkloadHeld: another BatchRelease holds the workload.
	StateWorkloadHeld ReleaseState = "WorkloadHeld"
	// StateIdle: nothing has been released yet.
	StateIdle ReleaseState = "Idle"
	// StateQuarantined: nothing has been released yet, and spec.template was rolled back.
	StateQuarantined ReleaseState = "Quarantined"
	// StateCompleted: all pods run the released template, or the one to which the rollback returned.
	StateCompleted ReleaseState = "Completed"
	// StateDrifted: the release completed, and the workload's template was changed since.
	StateDrifted ReleaseState = "Drifted"
	// StateWaiting: the release of a given template does not start. status.stoppedBy has the cause, or
	// else status.queued.awaits.
	StateWaiting ReleaseState = "Waiting"
	// StateChangedPastGit: no release is in progress, and spec.template differs from Git.
	StateChangedPastGit ReleaseState = "ChangedPastGit"
	// StateNativeRollout: the workload's own rolling update brings the template.
	StateNativeRollout ReleaseState = "NativeRollout"
	// StateStarting: the release has begun, but its first step has not.
	StateStarting ReleaseState = "Starting"
	// StateWillNotFit: the release waits until the namespace has room for it.
	StateWillNotFit ReleaseState = "WillNotFit"
	// StateRolling: pods are moved to the target of the step.
	StateRolling ReleaseState = "Rolling"
	// StatePausePoint: the next pod to go has a pause point.
	StatePausePoint ReleaseState = "PausePoint"
	// StateBlocked: the step is done, and waits for its gates.
	StateBlocked ReleaseState = "Blocked"
	// StateApprovalRefused: as Blocked, and an approval does not count.
	StateApprovalRefused ReleaseState = "ApprovalRefused"
	// StateRejected: as Blocked, and a gate was rejected.
	StateRejected ReleaseState = "Rejected"
	// StateStopped: the release waits until the causes in status.stoppedBy are gone.
	StateStopped ReleaseState = "Stopped"
	// StateFailed: the release made no progress within its deadline.
	StateFailed ReleaseState = "Failed"
	// StateShifting: the pods of the step are available, and routes move requests between versions;
	// status.traffic has the weights.
	StateShifting ReleaseState = "Shifting"
	// StateFinishing: every pod runs the new revision, and the workload is handed back.
	StateFinishing ReleaseState = "Finishing"
	// StateWaitingForTrain: the step of a member is done, and its train does not let it start the next
	// one, or hand its workload back.
	StateWaitingForTrain ReleaseState = "WaitingForTrain"
)

// StopCause is a cause that stops a release.
//
// +kubebuilder:validation:Enum=InvalidStrategy;Suspended;Frozen;WorkloadChanged;ChangedPastGit;TrainReturns;TooManyMembers;GuardRejected
type StopCause string

// The causes that stop a release.
const (
	// StopInvalidStrategy: the steps can't be read.
	StopInvalidStrategy StopCause = "InvalidStrategy"
	// StopSuspended: spec.suspend is set.
	StopSuspended StopCause = "Suspended"
	// StopFrozen: a freeze is in effect.
	StopFrozen StopCause = "Frozen"
	// StopWorkloadChanged: the held workload was changed, and no user has acknowledged it.
	StopWorkloadChanged StopCause = "WorkloadChanged"
	// StopChangedPastGit: spec.template differs from Git.
	StopChangedPastGit StopCause = "ChangedPastGit"
	// StopTrainReturns: the train of the release returns, and it is not its turn yet.
	StopTrainReturns StopCause = "TrainReturns"
	// StopTooManyMembers: a commit changes more members of the train than strategy.maxMembers.
	StopTooManyMembers StopCause = "TooManyMembers"
	// StopGuardRejected: a guard of the release was rejected.
	StopGuardRejected StopCause = "GuardRejected"
)

// Awaited is the event for which a new template waits on a held workload.
//
// +kubebuilder:validation:Enum=Room;NativeController
type Awaited string

// The events for which a new template waits.
const (
	// AwaitedRoom: pods must go to make room for one of the stable version.
	AwaitedRoom Awaited = "Room"
	// AwaitedNativeController: the native controller must observe the latest change, or give the
	// stable version its pods.
	AwaitedNativeController Awaited = "NativeController"
)

// StallCause is a problem that a user must fix before the release continues.
//
// +kubebuilder:validation:Enum=ProgressDeadlineExceeded;GateRejected;WriteRefused;InvalidStrategy;InvalidTemplate;NoTemplate;WouldMixVersions;WorkloadHeldByAnother;WorkloadShared;TrafficBlocked;Unguarded
type StallCause string

// The problems that a user must fix. Each is also the reason of the condition Stalled.
const (
	// StallDeadlineExceeded: no further pod became available in time, or a new template has waited as
	// long for the event in status.queued.awaits.
	StallDeadlineExceeded StallCause = ReasonDeadlineExceeded
	// StallGateRejected: a gate was rejected.
	StallGateRejected StallCause = ReasonGateRejected
	// StallWriteRefused: the API server refuses a write of the release; status.refusedWrite says which.
	StallWriteRefused StallCause = ReasonWriteRefused
	// StallInvalidStrategy: the steps, or other fields of strategy or rollback, are invalid.
	StallInvalidStrategy StallCause = ReasonInvalidStrategy
	// StallInvalidTemplate: the API server refuses spec.template.
	StallInvalidTemplate StallCause = ReasonInvalidTemplate
	// StallNoTemplate: spec.template is missing.
	StallNoTemplate StallCause = ReasonNoTemplate
	// StallWouldMixVersions: the Deployment must run one version at a time.
	StallWouldMixVersions StallCause = ReasonWouldMixVersions
	// StallWorkloadHeld: another BatchRelease holds the workload.
	StallWorkloadHeld StallCause = ReasonWorkloadHeld
	// StallWorkloadShared: another, older BatchRelease names the same workload.
	StallWorkloadShared StallCause = ReasonWorkloadShared
	// StallTrafficBlocked: routes can't share requests; status.traffic.problem says why.
	StallTrafficBlocked StallCause = ReasonTrafficBlocked
	// StallUnguarded: the release follows its workload, and no admission policy holds the templates
	// that others apply to it.
	StallUnguarded StallCause = ReasonUnguarded
)

// StoppedFor reports whether StoppedBy has a cause.
func (s *BatchReleaseStatus) StoppedFor(cause StopCause) bool {
	return slices.Contains(s.StoppedBy, cause)
}

// Stops returns the cause that stops the release in progress or the waiting template: the first of
// StoppedBy; empty if nothing is stopped. A rollback continues whatever StoppedBy has, unless its
// own steps are invalid.
func (s *BatchReleaseStatus) Stops() StopCause {
	if s.State != StateStopped && s.State != StateWaiting || len(s.StoppedBy) == 0 {
		return ""
	}
	return s.StoppedBy[0]
}

// Entered reports whether a step was entered: the first pods may be moved.
func (s *BatchReleaseStatus) Entered() bool { return s.StepStartedAt != nil }

// RolledBackTo returns the revision to which the current or last rollback returns; empty in a
// release.
func (s *BatchReleaseStatus) RolledBackTo() string {
	if s.Rollback == nil {
		return ""
	}
	return s.UpdateRevision
}
