package v1alpha1

import "slices"

// ReleaseState is what a release is doing, or waits for.
//
// +kubebuilder:validation:Enum=WorkloadNotFound;WorkloadHeld;Idle;Quarantined;Completed;Drifted;Waiting;ChangedPastGit;NativeRollout;Starting;WillNotFit;Rolling;PausePoint;Blocked;ApprovalRefused;Rejected;Stopped;Failed;Shifting;Finishing
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
	// StateCompleted: all pods run what was released, or was rolled back to.
	StateCompleted ReleaseState = "Completed"
	// StateDrifted: the release completed, and somebody has given the workload another template since.
	StateDrifted ReleaseState = "Drifted"
	// StateWaiting: a template is given, and its release does not start: status.stoppedBy says why, or else
	// status.queued.awaits.
	StateWaiting ReleaseState = "Waiting"
	// StateChangedPastGit: no release is in progress, and spec.template is not what Git has.
	StateChangedPastGit ReleaseState = "ChangedPastGit"
	// StateNativeRollout: the workload's own rolling update brings the template.
	StateNativeRollout ReleaseState = "NativeRollout"
	// StateStarting: the release has begun, but its first step has not.
	StateStarting ReleaseState = "Starting"
	// StateWillNotFit: the release waits until the namespace has room for it.
	StateWillNotFit ReleaseState = "WillNotFit"
	// StateRolling: pods are moved to what the step says.
	StateRolling ReleaseState = "Rolling"
	// StatePausePoint: the next pod to go has a pause point.
	StatePausePoint ReleaseState = "PausePoint"
	// StateBlocked: the step is done, and waits for its gates.
	StateBlocked ReleaseState = "Blocked"
	// StateApprovalRefused: as Blocked, and an approval came that does not count.
	StateApprovalRefused ReleaseState = "ApprovalRefused"
	// StateRejected: as Blocked, and a gate was rejected.
	StateRejected ReleaseState = "Rejected"
	// StateStopped: the release waits until what status.stoppedBy names is gone.
	StateStopped ReleaseState = "Stopped"
	// StateFailed: the release made no progress within its deadline.
	StateFailed ReleaseState = "Failed"
	// StateShifting: the pods of the step are available, and routes move requests between versions; status.traffic says how far.
	StateShifting ReleaseState = "Shifting"
	// StateFinishing: every pod runs the new revision, and the workload is handed back.
	StateFinishing ReleaseState = "Finishing"
)

// StopCause is a cause for which releases do not advance.
//
// +kubebuilder:validation:Enum=InvalidStrategy;Suspended;Frozen;WorkloadChanged;ChangedPastGit
type StopCause string

// The causes for which a release does not advance.
const (
	// StopInvalidStrategy: the steps can't be read.
	StopInvalidStrategy StopCause = "InvalidStrategy"
	// StopSuspended: spec.suspend is set.
	StopSuspended StopCause = "Suspended"
	// StopFrozen: a freeze is in effect.
	StopFrozen StopCause = "Frozen"
	// StopWorkloadChanged: somebody changed the held workload, and nobody has acknowledged it.
	StopWorkloadChanged StopCause = "WorkloadChanged"
	// StopChangedPastGit: spec.template is not what Git has.
	StopChangedPastGit StopCause = "ChangedPastGit"
)

// Awaited is what a new template waits for on a workload that is taken over.
//
// +kubebuilder:validation:Enum=Room;NativeController
type Awaited string

// What a new template waits for.
const (
	// AwaitedRoom: pods have to go, so that there is room for one of the stable version.
	AwaitedRoom Awaited = "Room"
	// AwaitedNativeController: the native controller has to see the latest change, or to give the stable version its pods.
	AwaitedNativeController Awaited = "NativeController"
)

// StallCause is what somebody has to change before the release goes on.
//
// +kubebuilder:validation:Enum=ProgressDeadlineExceeded;GateRejected;WriteRefused;InvalidStrategy;InvalidTemplate;NoTemplate;WouldMixVersions;WorkloadHeldByAnother;WorkloadShared;TrafficBlocked
type StallCause string

// What somebody has to change. Each is also the reason of the condition Stalled.
const (
	// StallDeadlineExceeded: no further pod became available in time, or a new template has waited for as long for what
	// status.queued.awaits names.
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
)

// StoppedFor reports whether a cause is among those for which releases do not advance.
func (s *BatchReleaseStatus) StoppedFor(cause StopCause) bool {
	return slices.Contains(s.StoppedBy, cause)
}

// Stops is the cause that stops what is in progress, or what waits to be released: the first of StoppedBy; empty if nothing
// is stopped. A rollback goes on whatever is in StoppedBy, unless its own steps are invalid.
func (s *BatchReleaseStatus) Stops() StopCause {
	if s.State != StateStopped && s.State != StateWaiting || len(s.StoppedBy) == 0 {
		return ""
	}
	return s.StoppedBy[0]
}

// Entered reports whether a step was entered: the first pods may be moved.
func (s *BatchReleaseStatus) Entered() bool { return s.StepStartedAt != nil }

// RolledBackTo is the revision that is being, or was last, rolled back to; empty in a release.
func (s *BatchReleaseStatus) RolledBackTo() string {
	if s.Rollback == nil {
		return ""
	}
	return s.UpdateRevision
}
