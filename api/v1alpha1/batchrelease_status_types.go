package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Phase summarizes the state of a release.
//
// +kubebuilder:validation:Enum=Initial;RollingUpdate;Finalizing;Completed;RollingBack;Failed
type Phase string

// The phases of a release.
const (
	// PhaseInitial: there is a new template, and Sluice is about to take the workload over.
	PhaseInitial Phase = "Initial"
	// PhaseRollingUpdate: Sluice has taken the workload over and goes through the steps.
	PhaseRollingUpdate Phase = "RollingUpdate"
	// PhaseRollingBack: as RollingUpdate, on the way back to an earlier template.
	PhaseRollingBack Phase = "RollingBack"
	// PhaseFinalizing: all steps are done, and Sluice hands the workload back.
	PhaseFinalizing Phase = "Finalizing"
	// PhaseCompleted: the workload runs the template and belongs to the native controller.
	PhaseCompleted Phase = "Completed"
	// PhaseFailed: no progress within the deadline; the workload is held where it is.
	PhaseFailed Phase = "Failed"
)

// EnteredStep records a step as it was when the release entered it.
type EnteredStep struct {
	// Replicas is the replicas field of the step.
	Replicas intstr.IntOrString `json:"replicas"`
	// Traffic is the percentage of requests for the new version.
	// +optional
	Traffic int32 `json:"traffic,omitempty"`
	// Matches are the matches of the step.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Matches []RequestMatch `json:"matches,omitempty"`
}

// StepState is the state of the current step.
//
// +kubebuilder:validation:Enum=Initial;Upgrade;Blocking;Completed
type StepState string

// The states of a step.
const (
	StepInitial   StepState = "Initial"
	StepUpgrade   StepState = "Upgrade"
	StepBlocking  StepState = "Blocking"
	StepCompleted StepState = "Completed"
)

// BatchReleaseStatus is the most recently observed state of a release.
type BatchReleaseStatus struct {
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// CurrentStepIndex is the index of the current step, from 0.
	// +kubebuilder:default=0
	// +optional
	// +kubebuilder:validation:Minimum=0
	CurrentStepIndex int32 `json:"currentStepIndex"`
	// CurrentStepState is the state of the current step. Patch it from Blocking to Completed to
	// confirm a manual gate.
	// +optional
	CurrentStepState StepState `json:"currentStepState,omitempty"`
	// State is the present activity of the release, or the thing for which it waits. Scripts should
	// read State, StoppedBy and StalledBy; Reason and Message are for people.
	// +optional
	State ReleaseState `json:"state,omitempty"`
	// StoppedBy lists the causes that stop the release; Reason is the reason of the first one. A
	// rollback advances anyway, unless its own steps are invalid.
	// +listType=atomic
	// +optional
	StoppedBy []StopCause `json:"stoppedBy,omitempty"`
	// StalledBy names the problem that a user must fix before the release can continue; empty if it
	// continues by itself.
	// +optional
	StalledBy StallCause `json:"stalledBy,omitempty"`
	// Reason is State in one word, as in conditions and events.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is a human readable message about the state.
	// +optional
	Message string `json:"message,omitempty"`

	// Batch is the current step, counted from 1, and the number of steps, as in kubectl get: "2/4".
	// +optional
	Batch string `json:"batch,omitempty"`
	// Gates are the gates for which the current step waits. A patch of currentStepState can confirm
	// only a gate in this list.
	// +listType=atomic
	// +optional
	Gates []GateReference `json:"gates,omitempty"`

	// Guards are the guards of the attempt.
	// +listType=atomic
	// +optional
	Guards []GateReference `json:"guards,omitempty"`

	// Answers are the users' answers to manual gates of the current step, each for one Gate object.
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=gate
	// +optional
	Answers []Answer `json:"answers,omitempty"`
	// Forced are the gates of this release whose policies were overridden.
	// +listType=atomic
	// +optional
	Forced []ForcedGate `json:"forced,omitempty"`

	// UpdateRevision is the pod template hash of the release in progress, or of the last one if there
	// is none.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
	// Images are the images of the containers of UpdateRevision, the first 20, once the workload has
	// its template.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Images []string `json:"images,omitempty"`
	// StableRevision is the pod template hash to which a rollback in mid-release returns.
	// +optional
	StableRevision string `json:"stableRevision,omitempty"`
	// Rollback describes the cause of the current or last rollback; unset in a release.
	// +optional
	Rollback *RollbackRecord `json:"rollback,omitempty"`
	// Commit is the commit that brought UpdateRevision.
	// +optional
	Commit string `json:"commit,omitempty"`
	// CommitAuthor is the author of Commit, as it claims.
	// +optional
	CommitAuthor string `json:"commitAuthor,omitempty"`
	// CommitSubject is the first line of the message of Commit.
	// +optional
	CommitSubject string `json:"commitSubject,omitempty"`
	// CommitTime is the time of Commit, as its committer claims; never in the future.
	// +optional
	CommitTime *metav1.Time `json:"commitTime,omitempty"`
	// CommitReference is the commit behind Commit, as that claims.
	// +optional
	CommitReference *ReferenceCommit `json:"commitReference,omitempty"`
	// Attempt counts the releases that this object has started. Gates of an earlier attempt never
	// count.
	// +optional
	Attempt int64 `json:"attempt,omitempty"`
	// Adopted means that Sluice has moved no pods for the attempt: the workload already ran the
	// template, or its own rolling update brings it.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// StartedAt is the time at which the attempt began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// StepStartedAt is the time at which the release entered the current step; unset before the first.
	// +optional
	StepStartedAt *metav1.Time `json:"stepStartedAt,omitempty"`
	// EnteredStep records the current step as it was when the release entered it. An edit that lowers
	// the step takes effect at once. One that raises it takes effect after the step's gates have
	// passed again.
	// +optional
	EnteredStep *EnteredStep `json:"enteredStep,omitempty"`
	// Quarantined lists digests of spec.template that were rolled back and are not released again.
	// +listType=atomic
	// +optional
	Quarantined []string `json:"quarantined,omitempty"`

	// Replicas is the spec.replicas of the workload from which TargetReplicas was computed.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// TargetReplicas is the number of pods of the update revision at the end of the current step.
	// +optional
	TargetReplicas int32 `json:"targetReplicas,omitempty"`
	// UpdatedReplicas is the number of pods of the update revision. It is written even if it is 0, so
	// that kubectl get shows it.
	// +kubebuilder:default=0
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// UpdatedReadyReplicas is the number of ready pods of the update revision.
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`
	// UpdatedAvailableReplicas is the number of available pods of the update revision.
	// +kubebuilder:default=0
	// +optional
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas"`
	// ReadyReplicas is the number of ready pods of all versions. Like AvailableReplicas and
	// UnavailableReplicas, it is updated during a release and at its end; after that, see the
	// workload's status.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// AvailableReplicas is the number of available pods of all versions.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// UnavailableReplicas is the number of pods that the ReplicaSets should have and that are not
	// available.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`

	// Progress is the progress that the progress deadline measures.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
	// PodTrouble describes why updated pods don't become available, for example a crash loop; unset if
	// no problem is known. It is set within seconds, and a release that stops at its progress deadline
	// keeps it.
	// +optional
	PodTrouble *PodTrouble `json:"podTrouble,omitempty"`

	// Queued is a new template that waits for a suspended or frozen release to continue, for the
	// current release to end, or for the event in Awaits. Only the newest template waits.
	// +optional
	Queued *QueuedTemplate `json:"queued,omitempty"`
	// Ended lists the completed releases and rollbacks before this one, the newest last.
	// +kubebuilder:validation:MaxItems=5
	// +listType=atomic
	// +optional
	Ended []EndedRelease `json:"ended,omitempty"`
	// Superseded lists commits that another commit replaced before their releases completed, the
	// newest last.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Superseded []string `json:"superseded,omitempty"`
	// Log lists events of the release that neither its gates nor its history show, the newest last.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Log []LogEntry `json:"log,omitempty"`
	// Order tracks the deletion costs that Sluice sets to put old pods in order; unset if no pod has
	// one. Before Sluice unsets it, the remaining pods get their own costs back.
	// +optional
	Order *OrderStatus `json:"order,omitempty"`
	// PausePoint is the pod before which the release is paused, or the next pod to delete after a user
	// confirmed its pause point.
	// +optional
	PausePoint *PausePoint `json:"pausePoint,omitempty"`

	// NextStepIndex is the index, from 0, of a step to jump to. Patch it to move the release in
	// progress forward, without waiting for gates that can be skipped, or back. The controller then
	// removes it.
	// +optional
	NextStepIndex *int32 `json:"nextStepIndex,omitempty"`
	// Jump is the last requested move to another step.
	// +optional
	Jump *Jump `json:"jump,omitempty"`

	// Run describes the run of a train.
	// +optional
	Run *TrainRun `json:"run,omitempty"`
	// Train describes how far a member of a train is in its run; unset outside of one.
	// +optional
	Train *TrainProgress `json:"train,omitempty"`

	// Traffic describes the distribution of requests; unset if no route is shared.
	// +optional
	Traffic *TrafficStatus `json:"traffic,omitempty"`

	// Resolved links spec.template as given to the same template with the API server's defaults.
	// +optional
	Resolved *ResolvedTemplate `json:"resolved,omitempty"`

	// Held holds the fields to restore when the workload is handed back; unset while it is not taken
	// over.
	// +optional
	Held *HeldWorkload `json:"held,omitempty"`

	// Failure describes the cause of the failure; unset if the release has not failed.
	// +optional
	Failure *Failure `json:"failure,omitempty"`

	// RefusedWrite is a write that the API server refuses and that delays the release; unset if there
	// is none. Sluice retries it at increasing intervals.
	// +optional
	RefusedWrite *RefusedWrite `json:"refusedWrite,omitempty"`

	// WorkloadUID is the UID of the workload that this status describes.
	// +optional
	WorkloadUID types.UID `json:"workloadUID,omitempty"`

	// Report is the last report to the forge about this release.
	// +optional
	Report *ForgeReport `json:"report,omitempty"`
	// Refusal is the last report to the forge about a commit that can't be released, or can't be
	// released yet.
	// +optional
	Refusal *ForgeReport `json:"refusal,omitempty"`

	// Revert is the pull request that brings Git back in line after a rollback that did not come from
	// Git.
	// +optional
	Revert *Revert `json:"revert,omitempty"`

	// LastUpdateTime is the time at which the phase, step or step state last changed.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are the conditions; docs/reasons.md explains each.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Progress is the best progress of the current step so far.
type Progress struct {
	// Available is the highest number of available updated pods in this release.
	Available int32 `json:"available"`
	// Since is the time at which Available was reached, or the start of the step if that is later.
	Since metav1.Time `json:"since"`
	// WaitedSeconds is the time, in seconds, for which a controller has watched the release wait for
	// one more available pod since then. The progress deadline counts this time. It is updated at
	// intervals.
	// +optional
	WaitedSeconds int32 `json:"waitedSeconds,omitempty"`
}

// OrderStatus counts old pods with and without the deletion costs that put them in order.
type OrderStatus struct {
	// Attempt is the release's status.attempt to which Unordered refers.
	Attempt int64 `json:"attempt"`
	// Unordered is the number of old pods that may lack such a cost: the last ones to go.
	Unordered int32 `json:"unordered"`
}

// PausePoint is an old pod before which a release is paused.
type PausePoint struct {
	// Pod is the name of the pod.
	Pod string `json:"pod"`
	// UID is the UID of the pod.
	UID types.UID `json:"uid"`
	// Node is the node of the pod.
	// +optional
	Node string `json:"node,omitempty"`
	// Since is the time at which the release reached the pod.
	Since metav1.Time `json:"since"`
	// Confirmed is the name of the pod, set by the user who lets the release continue.
	// +optional
	Confirmed string `json:"confirmed,omitempty"`
}

// ResolvedTemplate links a template as given to the same template with the API server's defaults.
type ResolvedTemplate struct {
	// Given is the digest of the template as given.
	Given string `json:"given"`
	// Digest is the digest of the template with defaults.
	Digest string `json:"digest"`
	// Revision is the pod template hash.
	Revision string `json:"revision"`
	// Dropped lists, as paths, the first fields of the given template that the API server does not
	// keep.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Dropped []string `json:"dropped,omitempty"`
}

// Jump is a requested change of the current step. It counts for one attempt. The release skips
// skippable gates of the steps From to To-1. If To is not after From, the steps before To count as
// passed.
type Jump struct {
	// From is the step before the jump, counted from 0.
	From int32 `json:"from"`
	// To is the requested step, counted from 0.
	To int32 `json:"to"`
	// By is the field in which the jump was requested.
	// +kubebuilder:validation:Enum=nextStepIndex;releaseTo
	By string `json:"by"`
	// Attempt is the attempt for which the jump counts; 0 if the jump was refused.
	// +optional
	Attempt int64 `json:"attempt,omitempty"`
	// RemovePods means that updated pods are replaced, too.
	// +optional
	RemovePods bool `json:"removePods,omitempty"`
	// Time is the time at which the jump was recorded.
	Time metav1.Time `json:"time"`
	// ReleaseTo is the last value of spec.releaseTo that was handled.
	// +optional
	ReleaseTo *int32 `json:"releaseTo,omitempty"`
	// Earlier lists the jumps before this one that still count, the newest last. A refused jump ends
	// none of them.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Earlier []EarlierJump `json:"earlier,omitempty"`
}

// EarlierJump is a jump requested before another one. Its fields have the meaning of those in Jump.
type EarlierJump struct {
	From int32 `json:"from"`
	To   int32 `json:"to"`
	// +kubebuilder:validation:Enum=nextStepIndex;releaseTo
	By      string `json:"by"`
	Attempt int64  `json:"attempt"`
	// +optional
	RemovePods bool        `json:"removePods,omitempty"`
	Time       metav1.Time `json:"time"`
}

// Jumps returns the jumps that count for the current attempt, the last one last.
func (s *BatchReleaseStatus) Jumps() []EarlierJump {
	if s.Jump == nil {
		return nil
	}
	j := s.Jump
	all := append(slices.Clone(j.Earlier), EarlierJump{
		From: j.From, To: j.To, By: j.By, Attempt: j.Attempt, RemovePods: j.RemovePods, Time: j.Time,
	})
	return slices.DeleteFunc(all, func(e EarlierJump) bool { return e.Attempt == 0 || e.Attempt != s.Attempt })
}

// QueuedTemplate is a template that waits to be released.
type QueuedTemplate struct {
	ResolvedTemplate `json:",inline"`
	// Commit is the commit that brought the template.
	// +optional
	Commit string `json:"commit,omitempty"`
	// Since is the time at which the template began to wait.
	Since metav1.Time `json:"since"`
	// Awaits names the event that must happen on the held workload before the release of the template
	// can begin; unset if the template waits for something else.
	// +optional
	Awaits Awaited `json:"awaits,omitempty"`
	// WaitedSeconds is the time, in seconds, for which a controller has watched the template wait for
	// the event in Awaits. The progress deadline counts this time. It is updated at intervals.
	// +optional
	WaitedSeconds int32 `json:"waitedSeconds,omitempty"`
}

// RefusedWrite is a write that the API server refuses, by its rules, the controller's permissions,
// a quota or admission, or that admission changes.
type RefusedWrite struct {
	// Key identifies the write.
	// +optional
	Key string `json:"key,omitempty"`
	// Write describes the attempted change, as a phrase that follows "to".
	Write string `json:"write"`
	// Message is the message of the API server; it names the component that refused the write.
	Message string `json:"message"`
	// Since is the time of the first refusal.
	Since metav1.Time `json:"since"`
	// WaitedSeconds is the time, in seconds, for which a controller has seen the write refused since
	// then. If no batch is in progress, the progress deadline counts this time. It is updated at
	// intervals.
	// +optional
	WaitedSeconds int32 `json:"waitedSeconds,omitempty"`
}

// Failure describes the cause of a failure.
type Failure struct {
	// DeadlineSeconds is the time, in seconds, for which the controller saw no progress.
	DeadlineSeconds int32 `json:"deadlineSeconds"`
	// Message describes the obstacle to progress.
	Message string `json:"message"`
}

// HeldWorkload holds the fields to restore when a workload is handed back.
type HeldWorkload struct {
	// Strategy is the Deployment's spec.strategy, or the spec.updateStrategy of a StatefulSet or
	// DaemonSet, as JSON.
	Strategy string `json:"strategy"`
	// Paused is the Deployment's spec.paused; false for the other kinds.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// GateReference names a Gate.
type GateReference struct {
	// Name is the name of the Gate.
	Name string `json:"name"`
	// Type is the type of the Gate.
	Type GateType `json:"type"`
	// Decision is the gate's decision as of the last update of the release.
	// +optional
	Decision Decision `json:"decision,omitempty"`
	// Undecided is set while metrics can't decide the gate, so that a user decides.
	// +optional
	Undecided bool `json:"undecided,omitempty"`
}
