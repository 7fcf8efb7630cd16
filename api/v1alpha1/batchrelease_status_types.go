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
	// PhaseInitial: a template to release was seen, the workload is about to be taken over.
	PhaseInitial Phase = "Initial"
	// PhaseRollingUpdate: the workload is taken over and goes through the steps.
	PhaseRollingUpdate Phase = "RollingUpdate"
	// PhaseRollingBack: as RollingUpdate, on the way back to an earlier template.
	PhaseRollingBack Phase = "RollingBack"
	// PhaseFinalizing: all steps are done, the workload is being handed back.
	PhaseFinalizing Phase = "Finalizing"
	// PhaseCompleted: the workload runs the template and is the native controller's.
	PhaseCompleted Phase = "Completed"
	// PhaseFailed: no progress within the deadline; held where it stands.
	PhaseFailed Phase = "Failed"
)

// EnteredStep records a step as it was entered.
type EnteredStep struct {
	// Replicas is the step's.
	Replicas intstr.IntOrString `json:"replicas"`
	// Traffic is the percentage of requests of the new version.
	// +optional
	Traffic int32 `json:"traffic,omitempty"`
	// Matches are the step's.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Matches []RequestMatch `json:"matches,omitempty"`
}

// StepState is where the current step stands.
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

// BatchReleaseStatus is what the controller last knew of a release.
type BatchReleaseStatus struct {
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// CurrentStepIndex counts from 0.
	// +kubebuilder:default=0
	// +optional
	// +kubebuilder:validation:Minimum=0
	CurrentStepIndex int32 `json:"currentStepIndex"`
	// CurrentStepState may be patched from Blocking to Completed to confirm a manual gate.
	// +optional
	CurrentStepState StepState `json:"currentStepState,omitempty"`
	// State is what the release is doing or waiting for. Scripts should read State, StoppedBy and StalledBy; Reason
	// and Message are for people.
	// +optional
	State ReleaseState `json:"state,omitempty"`
	// StoppedBy lists why the release does not advance; Reason is that of the first cause. A rollback advances
	// anyway, unless its own steps are invalid.
	// +listType=atomic
	// +optional
	StoppedBy []StopCause `json:"stoppedBy,omitempty"`
	// StalledBy names what somebody must fix before the release can continue; empty if it continues by itself.
	// +optional
	StalledBy StallCause `json:"stalledBy,omitempty"`
	// Reason is State in one word, as conditions and events have it.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`

	// Batch is the current step, counted from 1, and the number of steps, as kubectl get shows them: "2/4".
	// +optional
	Batch string `json:"batch,omitempty"`
	// Gates are the gates that the current step waits for. Only a gate that is named here can be
	// confirmed by patching currentStepState.
	// +listType=atomic
	// +optional
	Gates []GateReference `json:"gates,omitempty"`

	// Answers are what people say to manual gates of the current step, each for one Gate object.
	// +kubebuilder:validation:MaxItems=10
	// +listType=map
	// +listMapKey=gate
	// +optional
	Answers []Answer `json:"answers,omitempty"`
	// Forced are the gates of this release whose policies were overridden.
	// +listType=atomic
	// +optional
	Forced []ForcedGate `json:"forced,omitempty"`

	// UpdateRevision is the pod template hash of the release in progress, or of the last one if there is none.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`
	// Images are the images of the containers of UpdateRevision, the first 20, once the workload has its template.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Images []string `json:"images,omitempty"`
	// StableRevision is the pod template hash that a rollback in mid-release goes back to.
	// +optional
	StableRevision string `json:"stableRevision,omitempty"`
	// Rollback says why the current or last rollback began; unset in a release.
	// +optional
	Rollback *RollbackRecord `json:"rollback,omitempty"`
	// Commit brought UpdateRevision.
	// +optional
	Commit string `json:"commit,omitempty"`
	// CommitAuthor and CommitSubject are the author of Commit, as it claims, and the first line of its message.
	// +optional
	CommitAuthor string `json:"commitAuthor,omitempty"`
	// +optional
	CommitSubject string `json:"commitSubject,omitempty"`
	// CommitTime is when Commit was made, as its committer claims; never in the future.
	// +optional
	CommitTime *metav1.Time `json:"commitTime,omitempty"`
	// Attempt counts the releases that this object has started. Gates of an earlier attempt never count.
	// +optional
	Attempt int64 `json:"attempt,omitempty"`
	// Adopted says that Sluice has moved no pods for the attempt: the workload ran the template already, or its own rolling update
	// brings it.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// StartedAt is when the attempt began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// StepStartedAt is when the current step was entered; unset before the first.
	// +optional
	StepStartedAt *metav1.Time `json:"stepStartedAt,omitempty"`
	// EnteredStep records the current step as it was entered. An edit that asks for less takes effect at once. One that asks for more
	// takes effect once the step's gates, which are asked again, have passed.
	// +optional
	EnteredStep *EnteredStep `json:"enteredStep,omitempty"`
	// Quarantined are digests of spec.template that were rolled back and are not released again.
	// +listType=atomic
	// +optional
	Quarantined []string `json:"quarantined,omitempty"`

	// Replicas is spec.replicas of the workload for which TargetReplicas holds.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// TargetReplicas is how many pods run the update revision when the current step is done.
	// +optional
	TargetReplicas int32 `json:"targetReplicas,omitempty"`
	// UpdatedReplicas counts the pods that run the update revision; the next two fields count how many of them are
	// ready, and available. It is written even if it is 0, so that kubectl get shows it.
	// +kubebuilder:default=0
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// +optional
	UpdatedReadyReplicas int32 `json:"updatedReadyReplicas,omitempty"`
	// +kubebuilder:default=0
	// +optional
	UpdatedAvailableReplicas int32 `json:"updatedAvailableReplicas"`
	// ReadyReplicas, AvailableReplicas and UnavailableReplicas count the pods of all ReplicaSets. They are updated
	// during a release and at its end; after that, see the workload's status.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// +optional
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// UnavailableReplicas counts the pods that the ReplicaSets should have and that are not available.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`

	// Progress is what the progress deadline is measured on.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
	// PodTrouble says why updated pods don't become available, for example a crash loop; unset if nothing is known to be wrong. It
	// is seen within seconds, and a release that stops at its progress deadline keeps it.
	// +optional
	PodTrouble *PodTrouble `json:"podTrouble,omitempty"`

	// Queued is a new template that waits: for a suspended or frozen release to continue, for the current release
	// to end, or for what Awaits names. Only the newest waits.
	// +optional
	Queued *QueuedTemplate `json:"queued,omitempty"`
	// Ended lists the completed releases and rollbacks before this one, the newest last.
	// +kubebuilder:validation:MaxItems=5
	// +listType=atomic
	// +optional
	Ended []EndedRelease `json:"ended,omitempty"`
	// Superseded lists the commits that another commit superseded before their releases completed, the newest last.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Superseded []string `json:"superseded,omitempty"`
	// Log lists what happened to the release that neither its gates nor its history show, the newest last.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Log []LogEntry `json:"log,omitempty"`
	// Order tracks the deletion costs that Sluice sets to put old pods in order; unset if no pod has one. Before
	// Order is unset, the remaining pods get their own costs back.
	// +optional
	Order *OrderStatus `json:"order,omitempty"`
	// PausePoint is the pod before which the release is paused, or which it deletes next, after somebody confirmed
	// its pause point.
	// +optional
	PausePoint *PausePoint `json:"pausePoint,omitempty"`

	// NextStepIndex may be patched to move the release in progress to a step, counted from 0: forward, without waiting
	// for gates that can be skipped, or back. The controller then removes it.
	// +optional
	NextStepIndex *int32 `json:"nextStepIndex,omitempty"`
	// Jump is the last requested move to another step.
	// +optional
	Jump *Jump `json:"jump,omitempty"`

	// Traffic says who gets requests; unset where no route is shared.
	// +optional
	Traffic *TrafficStatus `json:"traffic,omitempty"`

	// Resolved links spec.template as given to the same template with the API server's defaults.
	// +optional
	Resolved *ResolvedTemplate `json:"resolved,omitempty"`

	// Held is what to restore when the workload is handed back; unset while it is not taken over.
	// +optional
	Held *HeldWorkload `json:"held,omitempty"`

	// Failure says why the release failed; unset if it has not.
	// +optional
	Failure *Failure `json:"failure,omitempty"`

	// RefusedWrite is a write that the API server refuses and that delays the release; unset if there is none. Sluice
	// retries it at increasing intervals.
	// +optional
	RefusedWrite *RefusedWrite `json:"refusedWrite,omitempty"`

	// WorkloadUID is the UID of the workload that this status describes.
	// +optional
	WorkloadUID types.UID `json:"workloadUID,omitempty"`

	// Report is what was last reported to the forge about this release.
	// +optional
	Report *ForgeReport `json:"report,omitempty"`
	// Refusal is what was last reported to the forge about a commit that can't be released, or can't be released yet.
	// +optional
	Refusal *ForgeReport `json:"refusal,omitempty"`

	// Revert is the pull request that brings Git back in line after a rollback that did not come from Git.
	// +optional
	Revert *Revert `json:"revert,omitempty"`

	// LastUpdateTime is when the phase, step or step state last changed.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Progress is the best that the current step has reached so far.
type Progress struct {
	// Available is the highest number of available updated pods in this release.
	Available int32 `json:"available"`
	// Since is when Available was reached, or when the step started if that is later.
	Since metav1.Time `json:"since"`
	// WaitedSeconds is how long a controller has watched the release wait for one more available pod since then. The
	// progress deadline counts this time. It is updated only from time to time.
	// +optional
	WaitedSeconds int32 `json:"waitedSeconds,omitempty"`
}

// OrderStatus says how many old pods have the deletion costs that put them in order.
type OrderStatus struct {
	// Attempt is the release's status.attempt that Unordered speaks of.
	Attempt int64 `json:"attempt"`
	// Unordered is how many old pods may be without such a cost: those that stay the longest.
	Unordered int32 `json:"unordered"`
}

// PausePoint is an old pod that a release is paused before.
type PausePoint struct {
	Pod string    `json:"pod"`
	UID types.UID `json:"uid"`
	// +optional
	Node string `json:"node,omitempty"`
	// Since is when the release came to the pod.
	Since metav1.Time `json:"since"`
	// Confirmed is set to the name of the pod by whoever lets the release continue.
	// +optional
	Confirmed string `json:"confirmed,omitempty"`
}

// ResolvedTemplate ties a template as given to the same template with the API server's defaults.
type ResolvedTemplate struct {
	// Given is the digest of the template as given.
	Given string `json:"given"`
	// Digest is the digest of the template with defaults.
	Digest string `json:"digest"`
	// Revision is the pod template hash.
	Revision string `json:"revision"`
	// Dropped are the first fields of the template as given that the API server does not keep, as paths.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +optional
	Dropped []string `json:"dropped,omitempty"`
}

// Jump is a requested change of the current step. It counts for one attempt. The release does not wait for skippable
// gates of the steps from From up to, but not including, To. If To is not after From, the steps before To count as
// passed.
type Jump struct {
	// From and To are steps, counted from 0.
	From int32 `json:"from"`
	To   int32 `json:"to"`
	// By is the field that requested it.
	// +kubebuilder:validation:Enum=nextStepIndex;releaseTo
	By string `json:"by"`
	// Attempt is the one that it counts for; 0 if it was refused.
	// +optional
	Attempt int64 `json:"attempt,omitempty"`
	// RemovePods says that updated pods are replaced, too.
	// +optional
	RemovePods bool `json:"removePods,omitempty"`
	// Time is when it was recorded.
	Time metav1.Time `json:"time"`
	// ReleaseTo is spec.releaseTo as it was last acted on.
	// +optional
	ReleaseTo *int32 `json:"releaseTo,omitempty"`
	// Earlier lists the jumps before this one that still count, the newest last. A refused jump ends none of them.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Earlier []EarlierJump `json:"earlier,omitempty"`
}

// EarlierJump is a jump that was requested before another one. Its fields are those of Jump.
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

// Jumps are the jumps that count for the current attempt, the last one last.
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
	// Commit brought the template.
	// +optional
	Commit string `json:"commit,omitempty"`
	// Since is when it began to wait.
	Since metav1.Time `json:"since"`
	// Awaits is what has to happen on the workload, which is taken over, before the release of the template may begin;
	// unset if the template waits for something else.
	// +optional
	Awaits Awaited `json:"awaits,omitempty"`
	// WaitedSeconds is how long a controller has watched the template wait for what Awaits names. The progress deadline
	// counts this time. It is updated only from time to time.
	// +optional
	WaitedSeconds int32 `json:"waitedSeconds,omitempty"`
}

// EndedRelease is a completed release or rollback. It is listed for clients that read the status only from time to
// time, and may have missed it.
type EndedRelease struct {
	// Commit is the one that was released, or rolled back from.
	// +optional
	Commit string `json:"commit,omitempty"`
	// Revision is what ran in the end, in Replicas pods.
	Revision string `json:"revision"`
	Replicas int32  `json:"replicas"`
	// Trigger is what began it, if it was a rollback.
	// +optional
	Trigger RollbackTrigger `json:"trigger,omitempty"`
	// Forced are its gates whose policies were overridden.
	// +listType=atomic
	// +optional
	Forced []ForcedGate `json:"forced,omitempty"`
}

// RefusedWrite is a write that the API server refuses: by its rules, the controller's permissions, a quota, or
// admission. Or admission changes it.
type RefusedWrite struct {
	// Key tells the write from others.
	// +optional
	Key string `json:"key,omitempty"`
	// Write says what Sluice tried to do, in words that follow "to".
	Write string `json:"write"`
	// Message is what the API server says, with who refuses it.
	Message string `json:"message"`
	// Since is when it was first refused.
	Since metav1.Time `json:"since"`
	// WaitedSeconds is how long a controller has seen the write refused since then. If no batch is in progress, the
	// progress deadline counts this time. It is updated only from time to time.
	// +optional
	WaitedSeconds int32 `json:"waitedSeconds,omitempty"`
}

// Failure is why a release has failed.
type Failure struct {
	// DeadlineSeconds is how long the controller watched the release without seeing progress.
	DeadlineSeconds int32 `json:"deadlineSeconds"`
	// Message says what kept it from making progress.
	Message string `json:"message"`
}

// HeldWorkload is what to restore when a workload is handed back.
type HeldWorkload struct {
	// Strategy is the Deployment's spec.strategy, or the spec.updateStrategy of a StatefulSet or DaemonSet, as JSON.
	Strategy string `json:"strategy"`
	// Paused is the Deployment's spec.paused; false for the other kinds.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// Answer is one person's answer to a manual gate.
type Answer struct {
	// Gate is the UID of the Gate.
	Gate    types.UID `json:"gate"`
	Verdict Verdict   `json:"verdict"`
	// By is the user's name, as the API server authenticated it. The policies in config/policy refuse any other name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by"`
	// Message is a sentence for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// Verdict is what a person says.
//
// +kubebuilder:validation:Enum=Approve;Reject
type Verdict string

// The verdicts.
const (
	VerdictApprove Verdict = "Approve"
	VerdictReject  Verdict = "Reject"
)

// ForcedGate is a gate whose policy was overridden.
type ForcedGate struct {
	// Step is the index of the step after which the gate stood.
	Step  int32 `json:"step"`
	Force `json:",inline"`
	Type  GateType `json:"type"`
}

// GateReference names a Gate.
type GateReference struct {
	Name string   `json:"name"`
	Type GateType `json:"type"`
	// Decision is the gate's decision as of the last update of the release.
	// +optional
	Decision Decision `json:"decision,omitempty"`
}
