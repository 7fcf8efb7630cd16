package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BatchRelease releases new pod templates of one workload in batches and stops
// at a gate after each of them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=br,categories=sluice
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Index",type=integer,JSONPath=`.status.currentStepIndex`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.currentStepState`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Batch",type=string,JSONPath=`.status.batch`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="Updated-Available",type=integer,JSONPath=`.status.updatedAvailableReplicas`,priority=1
// +kubebuilder:printcolumn:name="Gate",type=string,JSONPath=`.status.gates[*].type`,priority=1
// +kubebuilder:printcolumn:name="Commit",type=string,JSONPath=`.status.commit`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name must be at most 63 characters: it is a label of what belongs to the release"
type BatchRelease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BatchReleaseSpec   `json:"spec"`
	Status BatchReleaseStatus `json:"status,omitempty"`
}

// BatchReleaseList is a list of BatchReleases.
//
// +kubebuilder:object:root=true
type BatchReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BatchRelease `json:"items"`
}

// BatchReleaseSpec says what is released to which workload, and in which steps.
type BatchReleaseSpec struct {
	// WorkloadRef names the workload, in the namespace of the release. It can't be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="workloadRef is immutable: make a new BatchRelease for another workload"
	WorkloadRef WorkloadReference `json:"workloadRef"`

	// Template is the pod template to release (a core/v1 PodTemplateSpec). It is kept as it was
	// given and checked by the API server when the release starts, so that fields that are newer
	// than Sluice are neither lost nor refused.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +mapType=atomic
	// +kubebuilder:validation:Schemaless
	Template *runtime.RawExtension `json:"template,omitempty"`

	// Strategy says how the workload is taken from one template to the next.
	Strategy ReleaseStrategy `json:"strategy"`

	// Rollback says how the workload is taken back to an earlier template.
	// +optional
	Rollback *RollbackStrategy `json:"rollback,omitempty"`

	// RevisionHistoryLimit is how many earlier templates are kept to roll back to. Default 10.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// DeletionPolicy says what becomes of the workload when this object is deleted in mid-release.
	// Revert hands it back with the stable template, Proceed with the new one; in a rollback both do with the
	// one that is rolled back to. The native controller takes it from there. Default Revert: nobody has approved the rest.
	// +kubebuilder:default=Revert
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Drift says what becomes of a template of the workload that somebody changes by hand while no release is
	// under way: Report says so, Revert brings the released one back by the steps of a rollback, at most every
	// ten minutes. Default Report.
	// +kubebuilder:default=Report
	// +optional
	Drift DriftPolicy `json:"drift,omitempty"`

	// Suspend stops the release where it stands: no step is entered or carried on, and no new template
	// is released. Rollbacks go on, and spec.replicas of the workload is followed.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// ReleaseTo takes the release that is under way to a step, counted from 0, once for each change of this
	// field: forward without asking those gates on the way that can be skipped, or back.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=49
	// +optional
	ReleaseTo *int32 `json:"releaseTo,omitempty"`
}

// DeletionPolicy says what becomes of a workload whose release is deleted in mid-release.
//
// +kubebuilder:validation:Enum=Revert;Proceed
type DeletionPolicy string

// The deletion policies.
const (
	DeletionRevert  DeletionPolicy = "Revert"
	DeletionProceed DeletionPolicy = "Proceed"
)

// DriftPolicy says what becomes of a template that was changed by hand.
//
// +kubebuilder:validation:Enum=Report;Revert
type DriftPolicy string

// The drift policies.
const (
	DriftReport DriftPolicy = "Report"
	DriftRevert DriftPolicy = "Revert"
)

// WorkloadReference names a workload in the namespace of the object that holds it.
//
// +kubebuilder:validation:XValidation:rule="self.apiVersion == 'apps/v1' && self.kind == 'Deployment'",message="only apps/v1 Deployment can be released"
type WorkloadReference struct {
	// +kubebuilder:validation:MaxLength=63
	APIVersion string `json:"apiVersion"`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ReleaseStrategy is the list of steps and the limits that hold while they are taken.
type ReleaseStrategy struct {
	// Steps are the batches, 1 to 50. Targets never decrease and the last is 100%.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self[self.size()-1].replicas == '100%'",message="the last step must have replicas: 100%"
	// +kubebuilder:validation:XValidation:rule="self.map(s, type(s.replicas) == int ? int(s.replicas) : -1).filter(n, n >= 0).isSorted()",message="must not be fewer pods than in a step before it"
	// +kubebuilder:validation:XValidation:rule="!self.exists(s, type(s.replicas) == int && int(s.replicas) < 0)",message="replicas must not be negative"
	// +kubebuilder:validation:XValidation:rule="self.map(s, s.replicas == '100%' ? 1 : 0).isSorted()",message="after a step of 100% there must be no other"
	// +listType=atomic
	Steps []Step `json:"steps"`

	// MaxSurge is how many pods, or which percentage of spec.replicas (rounded up), may run above
	// spec.replicas. Default: what the Deployment says.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^[0-9]{1,3}%$')",message="must be a number of pods >= 0 or a percentage such as 25%"
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// MaxUnavailable is how many pods, or which percentage of spec.replicas (rounded down), may be
	// missing from spec.replicas. Default: what the Deployment says.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^(100|[0-9]{1,2})%$')",message="must be a number of pods >= 0 or a percentage from 0% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// PodReplacement says when a pod that goes makes room for another: TerminationStarted as soon as its deletion has
	// begun, as for a Deployment, Terminated once it is gone, for pods that share what only so many can have, such as GPUs
	// or licences. Terminated needs Kubernetes 1.35, where ReplicaSets count the pods that are terminating. Default
	// TerminationStarted.
	// +optional
	PodReplacement PodReplacementPolicy `json:"podReplacement,omitempty"`

	// Order says which old pods go first: the first key counts most, and pods that are equal by all
	// of them go by their own deletion cost, then the newest first, then by name. Pods that are not
	// ready go before all others. Default: the order of the ReplicaSet controller.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Order []OrderKey `json:"order,omitempty"`

	// PausePoints has the release hold before each old pod that is annotated
	// rollouts.sluice.dev/pause-point: "true". It is implied by order.
	// +optional
	PausePoints bool `json:"pausePoints,omitempty"`

	// ProgressDeadlineSeconds is how long a step may go without one more updated pod becoming
	// available than ever before, in seconds, before the release fails. Only time in which a controller
	// watches counts. Default: what the Deployment says, which is 600 unless changed.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// OnFailure says what becomes of a release that makes no progress within the deadline: Pause leaves
	// it where it is, Rollback goes back to the stable template. Default Pause. A rollback that fails is
	// always left where it is.
	// +kubebuilder:default=Pause
	// +optional
	OnFailure FailurePolicy `json:"onFailure,omitempty"`

	// Preflight says what becomes of a release that will not fit into the quotas of its namespace: Hold
	// keeps it from starting until it fits, Warn says so and starts it all the same. Default Hold.
	// +optional
	Preflight PreflightPolicy `json:"preflight,omitempty"`

	// AllowMixedVersions says that a Deployment of strategy Recreate may be released all the same. That strategy asks
	// for never running two versions at once; a release in batches does so at each step. Without it the release of
	// such a Deployment is not started while it has pods. A rollback is always started. Default false.
	// +optional
	AllowMixedVersions bool `json:"allowMixedVersions,omitempty"`

	// Supersede says what becomes of a release when a new template comes in its middle. Restart begins
	// anew with the new one. Queue finishes the release first, gates and all, and then takes the newest; a
	// template that was stable before is a rollback and does not wait. Default Restart.
	// +kubebuilder:default=Restart
	// +optional
	Supersede SupersedePolicy `json:"supersede,omitempty"`

	// StepBack says what a jump back to an earlier step does with updated pods beyond that step: KeepPods
	// leaves them where they are, RemovePods has pods of the version before take their places. Default KeepPods.
	// +optional
	StepBack StepBackPolicy `json:"stepBack,omitempty"`
}

// FailurePolicy says what becomes of a release that fails.
//
// +kubebuilder:validation:Enum=Pause;Rollback
type FailurePolicy string

// The failure policies.
const (
	FailurePause    FailurePolicy = "Pause"
	FailureRollback FailurePolicy = "Rollback"
)

// PreflightPolicy says what becomes of a release that will not fit.
//
// +kubebuilder:validation:Enum=Hold;Warn
type PreflightPolicy string

// The preflight policies.
const (
	PreflightHold PreflightPolicy = "Hold"
	PreflightWarn PreflightPolicy = "Warn"
)

// SupersedePolicy says what becomes of a release when a new template comes in its middle.
//
// +kubebuilder:validation:Enum=Restart;Queue
type SupersedePolicy string

// The supersede policies.
const (
	SupersedeRestart SupersedePolicy = "Restart"
	SupersedeQueue   SupersedePolicy = "Queue"
)

// PodReplacementPolicy says when a pod that goes makes room for another.
//
// +kubebuilder:validation:Enum=TerminationStarted;Terminated
type PodReplacementPolicy string

// The policies for replacing pods.
const (
	ReplaceWhenTerminationStarted PodReplacementPolicy = "TerminationStarted"
	ReplaceWhenTerminated         PodReplacementPolicy = "Terminated"
)

// StepBackPolicy says what a jump back does with updated pods beyond the step that it goes to.
//
// +kubebuilder:validation:Enum=KeepPods;RemovePods
type StepBackPolicy string

// The policies for a jump back.
const (
	StepBackKeepPods   StepBackPolicy = "KeepPods"
	StepBackRemovePods StepBackPolicy = "RemovePods"
)

// RollbackStrategy is the plan that a rollback follows.
type RollbackStrategy struct {
	// Steps of the rollback; a step with no gate goes on at once. Default: 1, 100%.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self[self.size()-1].replicas == '100%'",message="the last step must have replicas: 100%"
	// +kubebuilder:validation:XValidation:rule="self.map(s, type(s.replicas) == int ? int(s.replicas) : -1).filter(n, n >= 0).isSorted()",message="must not be fewer pods than in a step before it"
	// +kubebuilder:validation:XValidation:rule="!self.exists(s, type(s.replicas) == int && int(s.replicas) < 0)",message="replicas must not be negative"
	// +kubebuilder:validation:XValidation:rule="self.map(s, s.replicas == '100%' ? 1 : 0).isSorted()",message="after a step of 100% there must be no other"
	// +listType=atomic
	Steps []Step `json:"steps"`
}

// Step is one batch: how many pods run the new template at its end, and what has to be
// before the next one starts.
type Step struct {
	// Replicas is how many pods, or which percentage of spec.replicas (rounded up), run the new
	// template when this step is done.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	Replicas intstr.IntOrString `json:"replicas"`

	// Gates must all pass before the next step starts. None given means one manual gate, except
	// after the last step, which needs none.
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:XValidation:rule="self.filter(g, has(g.pullRequest)).size() <= 1",message="a step can have one pullRequest gate"
	// +listType=atomic
	// +optional
	Gates []GatePolicy `json:"gates,omitempty"`
}
