package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BatchRelease releases new pod templates of one workload in batches, and waits at the gates after
// each batch.
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
// +kubebuilder:printcolumn:name="Traffic",type=integer,JSONPath=`.status.traffic.weight`,priority=1
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

// BatchReleaseSpec describes the template to release, its workload and the steps.
//
// +kubebuilder:validation:XValidation:rule="!has(self.workloadRef) || self.workloadRef.kind == 'Deployment' || !has(self.strategy.maxSurge)",fieldPath=".strategy.maxSurge",message="is for Deployments: pods of a StatefulSet or DaemonSet are replaced in place, within maxUnavailable"
// +kubebuilder:validation:XValidation:rule="!has(self.workloadRef) || self.workloadRef.kind == 'Deployment' || !has(self.strategy.podReplacement)",fieldPath=".strategy.podReplacement",message="is for Deployments: a pod of a StatefulSet or DaemonSet is created when the one before it is gone"
// +kubebuilder:validation:XValidation:rule="!has(self.workloadRef) || self.workloadRef.kind == 'Deployment' || !has(self.strategy.traffic)",fieldPath=".strategy.traffic",message="is for Deployments: no Service can tell the versions of a StatefulSet or DaemonSet apart by pod-template-hash"
// +kubebuilder:validation:XValidation:rule="!has(self.workloadRef) || self.workloadRef.kind == 'Deployment' || !has(self.strategy.allowMixedVersions) || !self.strategy.allowMixedVersions",fieldPath=".strategy.allowMixedVersions",message="is for Deployments with strategy Recreate: a StatefulSet or DaemonSet has no such strategy"
// +kubebuilder:validation:XValidation:rule="!has(self.workloadRef) || self.workloadRef.kind != 'StatefulSet' || !has(self.strategy.order) || self.strategy.order.size() == 0",fieldPath=".strategy.order",message="is not for StatefulSets: their pods go by ordinal, the highest first"
// +kubebuilder:validation:XValidation:rule="!has(self.workloadRef) || self.workloadRef.kind != 'StatefulSet' || !has(self.strategy.pausePoints) || !self.strategy.pausePoints",fieldPath=".strategy.pausePoints",message="is not for StatefulSets: their pods go by ordinal, the highest first; use steps"
// +kubebuilder:validation:XValidation:rule="!has(self.follow) || !has(self.strategy.supersede) || self.strategy.supersede != 'Queue'",fieldPath=".strategy.supersede",message="Queue is not for a release that follows its workload, which has the next template already: use Restart"
// +kubebuilder:validation:XValidation:rule="!has(self.follow) || !self.strategy.steps.exists(s, has(s.gates) && s.gates.exists(g, has(g.commitStatus) || has(g.checkRun) || (has(g.pullRequest) && has(g.pullRequest.forbidSelfApproval) && g.pullRequest.forbidSelfApproval)))",fieldPath=".strategy.steps",message="commitStatus, checkRun and forbidSelfApproval are not for a release that follows its workload: its commit is a claim of its applier"
// +kubebuilder:validation:XValidation:rule="!has(self.follow) || !has(self.rollback) || !self.rollback.steps.exists(s, has(s.gates) && s.gates.exists(g, has(g.commitStatus) || has(g.checkRun) || (has(g.pullRequest) && has(g.pullRequest.forbidSelfApproval) && g.pullRequest.forbidSelfApproval)))",fieldPath=".rollback.steps",message="commitStatus, checkRun and forbidSelfApproval are not for a release that follows its workload: its commit is a claim of its applier"
// +kubebuilder:validation:XValidation:rule="!has(self.follow) || !has(self.drift) || self.drift != 'Revert'",fieldPath=".drift",message="Revert is not for a release that follows its workload: a changed template is the next release"
// +kubebuilder:validation:XValidation:rule="!has(self.workloadRef) || self.workloadRef.kind != 'DaemonSet' || !has(self.strategy.stepBack) || self.strategy.stepBack != 'RemovePods'",fieldPath=".strategy.stepBack",message="RemovePods is not for DaemonSets: a pod that is replaced has the new template, until a rollback"
//
// +kubebuilder:validation:XValidation:rule="has(self.workloadRef) != has(self.members)",message="a release has a workloadRef or, as a train, members: give one of them"
// +kubebuilder:validation:XValidation:rule="has(self.members) == has(oldSelf.members)",message="a release can't become a train, nor a train a release: give it another name"
// +kubebuilder:validation:XValidation:rule="!has(self.members) || !has(self.template) && !has(self.follow) && !has(self.rollback) && !has(self.train) && !has(self.releaseTo)",message="template, follow, rollback, train and releaseTo are not for trains: their members have them"
// +kubebuilder:validation:XValidation:rule="has(self.members) || !has(self.memberTemplates) && !has(self.strategy.lockstep) && !has(self.strategy.maxMembers) && (!has(self.strategy.onFailure) || self.strategy.onFailure != 'RollbackDependents')",message="memberTemplates, lockstep, maxMembers and onFailure RollbackDependents are for trains: a release with members"
// +kubebuilder:validation:XValidation:rule="has(self.members) || has(self.strategy.traffic) || !self.strategy.steps.exists(s, has(s.traffic) || (has(s.matches) && s.matches.size() > 0))",fieldPath=".strategy.steps",message="traffic and matches of steps need strategy.traffic, which names the routes"
// +kubebuilder:validation:XValidation:rule="!has(self.train) || !has(self.follow)",message="a member of a train can't follow its workload: give it a template in Git"
// +kubebuilder:validation:XValidation:rule="!has(self.config) || !has(self.follow) && !has(self.members)",fieldPath=".config",message="is for releases that have their template in Git: a train has members, and a release that follows has its workload"
type BatchReleaseSpec struct {
	// WorkloadRef names the workload, in the namespace of the release. It can't be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="workloadRef is immutable: make a new BatchRelease for another workload"
	// +optional
	WorkloadRef WorkloadReference `json:"workloadRef,omitzero"`

	// Members are other releases of the namespace, which one commit releases together, in the steps
	// and with the gates of this one. A release with members is a train, and has no workload. Default:
	// none.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=200
	// +listType=map
	// +listMapKey=name
	// +optional
	Members []TrainMember `json:"members,omitempty"`

	// MemberTemplates are the templates that the members have at the commit. The ReleaseSource of the
	// train writes them.
	// +kubebuilder:validation:MaxItems=2000
	// +listType=atomic
	// +optional
	MemberTemplates []MemberTemplate `json:"memberTemplates,omitempty"`

	// Train is the name of the train that releases this one. The ReleaseSource of the train writes it.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Train string `json:"train,omitempty"`

	// Template is the pod template to release (a core/v1 PodTemplateSpec). It is stored unchanged, and
	// the API server checks it when the release starts. Fields that are newer than Sluice are neither
	// lost nor refused.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +mapType=atomic
	// +kubebuilder:validation:Schemaless
	Template *runtime.RawExtension `json:"template,omitempty"`

	// Config names ConfigMaps and Secrets that are released with the template, at most 20. Sluice makes
	// an immutable copy of each one as the commit has it, and the template names the copies: another
	// content is another template. It is for releases from a repository. Default: none.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Config []ConfigReference `json:"config,omitempty"`

	// Follow names the source of the template. Workload: Helm, Flux, Argo CD or kubectl apply the
	// workload, and the template that they write there starts a release; Sluice copies it to
	// spec.template. It needs the admission policy in config/follow, or a manifest that keeps the
	// native controller from rolling. Default: the given spec.template.
	// +optional
	Follow FollowPolicy `json:"follow,omitempty"`

	// Strategy defines the way from one template to the next.
	Strategy ReleaseStrategy `json:"strategy"`

	// Rollback defines the way back to an earlier template.
	// +optional
	Rollback *RollbackStrategy `json:"rollback,omitempty"`

	// RevisionHistoryLimit is the number of earlier templates to keep for rollbacks. Default 10.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// DeletionPolicy defines the template of the workload when this object is deleted in mid-release.
	// Revert hands it back with the stable template, Proceed with the new one; in a rollback, both use
	// the template to which the rollback returns. The native controller rolls out the rest. Default
	// Revert: the remaining pods are not approved.
	// +kubebuilder:default=Revert
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Drift defines the reaction to a template that was changed by hand while no release is in
	// progress. Report reports it. Revert restores the released template in the steps of a rollback,
	// at most every ten minutes. Default Report.
	// +kubebuilder:default=Report
	// +optional
	Drift DriftPolicy `json:"drift,omitempty"`

	// Suspend stops the release: no step starts or continues, and no new template is released.
	// Rollbacks continue, and the release still follows the workload's spec.replicas.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// ReleaseTo is the index, from 0, of a step to jump to, once for each change of this field:
	// forward, without waiting for gates that can be skipped, or back.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=49
	// +optional
	ReleaseTo *int32 `json:"releaseTo,omitempty"`
}

// FollowPolicy defines where the template of a release comes from.
//
// +kubebuilder:validation:Enum=Workload
type FollowPolicy string

// FollowWorkload takes the template that others write to the workload.
const FollowWorkload FollowPolicy = "Workload"

// DeletionPolicy defines the template of a workload whose release is deleted in mid-release.
//
// +kubebuilder:validation:Enum=Revert;Proceed
type DeletionPolicy string

// The deletion policies.
const (
	DeletionRevert  DeletionPolicy = "Revert"
	DeletionProceed DeletionPolicy = "Proceed"
)

// DriftPolicy defines the reaction to a template that was changed by hand.
//
// +kubebuilder:validation:Enum=Report;Revert
type DriftPolicy string

// The drift policies.
const (
	DriftReport DriftPolicy = "Report"
	DriftRevert DriftPolicy = "Revert"
)

// WorkloadReference names a workload in the same namespace.
//
// +kubebuilder:validation:XValidation:rule="self.apiVersion == 'apps/v1' && self.kind in ['Deployment', 'StatefulSet', 'DaemonSet']",message="only apps/v1 Deployment, StatefulSet and DaemonSet can be released"
type WorkloadReference struct {
	// APIVersion is apps/v1.
	// +kubebuilder:validation:MaxLength=63
	APIVersion string `json:"apiVersion"`
	// Kind is Deployment, StatefulSet or DaemonSet.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name is the name of the workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ReleaseStrategy holds the steps, and the limits that apply to them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.traffic) || self.steps.exists(s, has(s.traffic) || (has(s.matches) && s.matches.size() > 0))",fieldPath=".traffic",message="no step has traffic or matches, so that all requests would stay with the old version until the last step: give steps a share such as traffic: 10%, or the last one traffic: 100% if that is meant"
// +kubebuilder:validation:XValidation:rule="!has(self.traffic) || (has(self.traffic.allowOverload) && self.traffic.allowOverload) || !self.steps.exists(s, has(s.traffic) && type(s.replicas) == string && (s.traffic.size() > s.replicas.size() || (s.traffic.size() == s.replicas.size() && s.traffic > s.replicas)))",fieldPath=".steps",message="traffic of a step must not be more than its replicas: set allowOverload: true in strategy.traffic if fewer pods can serve as many requests"
// +kubebuilder:validation:XValidation:rule="!has(self.traffic) || !self.traffic.routes.exists(r, r.kind != 'HTTPRoute') || !self.steps.exists(s, has(s.matches) && s.matches.exists(m, has(m.path) || (has(m.queryParams) && m.queryParams.size() > 0)))",fieldPath=".steps",message="path and queryParams of matches work only with HTTPRoutes: for a GRPCRoute or an Ingress, a match can name only headers"
// +kubebuilder:validation:XValidation:rule="!has(self.traffic) || !self.traffic.routes.exists(r, r.kind == 'Ingress') || !self.steps.exists(s, has(s.matches) && (s.matches.size() > 1 || s.matches.exists(m, has(m.headers) && m.headers.size() > 1)))",fieldPath=".steps",message="an Ingress takes one match with one header: use an HTTPRoute for more"
type ReleaseStrategy struct {
	// Steps are the batches, 1 to 50. Targets never decrease, and the last is 100%.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self[self.size()-1].replicas == '100%'",message="the last step must have replicas: 100%"
	// +kubebuilder:validation:XValidation:rule="self.map(s, type(s.replicas) == int ? int(s.replicas) : -1).filter(n, n >= 0).isSorted()",message="must not be fewer pods than in a step before it"
	// +kubebuilder:validation:XValidation:rule="!self.exists(s, type(s.replicas) == int && int(s.replicas) < 0)",message="replicas must not be negative"
	// +kubebuilder:validation:XValidation:rule="self.map(s, s.replicas == '100%' ? 1 : 0).isSorted()",message="after a step of 100% there must be no other"
	// +kubebuilder:validation:XValidation:rule="self.map(s, has(s.traffic) && s.traffic.matches('^(100|[1-9]?[0-9])%$') ? int(s.traffic.substring(0, s.traffic.size()-1)) : -1).filter(n, n >= 0).isSorted()",message="traffic must not be less than in a step before it"
	// +kubebuilder:validation:XValidation:rule="!has(self[self.size()-1].traffic) || self[self.size()-1].traffic == '100%'",message="the last step gives the new version all requests: leave traffic out, or set 100%"
	// +kubebuilder:validation:XValidation:rule="!self.exists(s, (type(s.replicas) == int ? int(s.replicas) == 0 : s.replicas in ['0%', '00%']) && ((has(s.traffic) && s.traffic != '0%') || (has(s.matches) && s.matches.size() > 0)))",message="a step with replicas: 0 has no pods that could get requests"
	// +listType=atomic
	Steps []Step `json:"steps"`

	// Guards are metrics gates that watch the whole release, from its first step on. The release does
	// not wait for them: one that is rejected stops it at any moment, or rolls it back, by its
	// onReject. Rollbacks have none.
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:XValidation:rule="self.all(g, has(g.metrics))",message="a guard measures metrics: other gates belong to steps"
	// +listType=atomic
	// +optional
	Guards []GatePolicy `json:"guards,omitempty"`

	// Traffic names the routes that share requests between the new and the stable version. Default:
	// none; pods get requests as soon as they are ready. For Deployments only.
	// +optional
	Traffic *Traffic `json:"traffic,omitempty"`

	// MaxSurge is the number of pods, or the percentage of spec.replicas (rounded up), that may run
	// above spec.replicas. It counts for Deployments only: pods of StatefulSets and DaemonSets are
	// replaced in place. Default: the Deployment's.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^[0-9]{1,3}%$')",message="must be a number of pods >= 0 or a percentage such as 25%"
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// MaxUnavailable is the number of pods, or the percentage of spec.replicas (rounded down), that
	// may be missing from spec.replicas; for a DaemonSet, from the pods that belong on its nodes
	// (rounded up). Default: the workload's. It is required for a DaemonSet whose own strategy has
	// maxSurge.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^(100|[0-9]{1,2})%$')",message="must be a number of pods >= 0 or a percentage from 0% to 100%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// PodReplacement defines the time at which a deleted pod makes room for a new one.
	// TerminationStarted: when its deletion begins, as in a Deployment. Terminated: when it is gone,
	// for pods that need something scarce, such as GPUs or licences. Terminated needs Kubernetes 1.35,
	// where ReplicaSets count terminating pods. It counts for Deployments only. Default
	// TerminationStarted.
	// +optional
	PodReplacement PodReplacementPolicy `json:"podReplacement,omitempty"`

	// Order defines which old pods are deleted first. The first key counts most. Pods that are equal
	// by all keys go by their own deletion cost, then the newest first, then by name. Pods that are
	// not ready go before all others. Default: the order of the ReplicaSet controller; in a DaemonSet,
	// by the name of the node. Not for StatefulSets: their pods go by ordinal, the highest first.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Order []OrderKey `json:"order,omitempty"`

	// PausePoints pauses the release before each old pod with the annotation
	// rollouts.sluice.dev/pause-point: "true". Setting order implies it. Not for StatefulSets.
	// +optional
	PausePoints bool `json:"pausePoints,omitempty"`

	// ProgressDeadlineSeconds is the number of seconds for which a step may make no progress before
	// the release fails. Progress is one more available updated pod than ever before. Only time in
	// which the controller runs counts. Default: the Deployment's, which is 600 unless changed; 600
	// for StatefulSets and DaemonSets.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// OnFailure defines the reaction to a release without progress within the deadline. Pause leaves
	// it where it is, Rollback returns to the stable template. In a train, all members return;
	// RollbackDependents returns the one that failed, and the members that come after it. Default
	// Pause. A failed rollback always stays where it is.
	// +kubebuilder:default=Pause
	// +optional
	OnFailure FailurePolicy `json:"onFailure,omitempty"`

	// Preflight defines the reaction to a release that does not fit into the quotas of its namespace.
	// Hold waits until it fits, Warn reports it and starts. Default Hold.
	// +optional
	Preflight PreflightPolicy `json:"preflight,omitempty"`

	// AllowMixedVersions allows releasing a Deployment with strategy Recreate in batches. That
	// strategy promises never to run two versions at once; a release in batches does so at each step.
	// If false, the release of such a Deployment does not start while it has pods. A rollback always
	// starts. Default false.
	// +optional
	AllowMixedVersions bool `json:"allowMixedVersions,omitempty"`

	// Supersede defines the reaction to a new template in mid-release. Restart starts over with it.
	// Queue finishes the release first, with its gates, and then starts the newest template; a
	// template that was stable before is a rollback, and does not wait. Default Restart.
	// +kubebuilder:default=Restart
	// +optional
	Supersede SupersedePolicy `json:"supersede,omitempty"`

	// Lockstep limits how far the members of a train are apart. Default: only the order of its members
	// and its gates do.
	// +optional
	Lockstep *Lockstep `json:"lockstep,omitempty"`

	// MaxMembers limits the members of one run of a train. A commit that changes more waits until the
	// limit is raised, so that a squash of many changes does not release everything at once. Default:
	// no limit.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxMembers *int32 `json:"maxMembers,omitempty"`

	// StepBack defines the reaction to updated pods beyond the target of a jump back. KeepPods keeps
	// them. RemovePods replaces them with pods of the old version, which a DaemonSet can't. Default
	// KeepPods.
	// +optional
	StepBack StepBackPolicy `json:"stepBack,omitempty"`
}

// FailurePolicy defines the reaction to a failed release.
//
// +kubebuilder:validation:Enum=Pause;Rollback;RollbackDependents
type FailurePolicy string

// The failure policies.
const (
	FailurePause              FailurePolicy = "Pause"
	FailureRollback           FailurePolicy = "Rollback"
	FailureRollbackDependents FailurePolicy = "RollbackDependents"
)

// PreflightPolicy defines the reaction to a release that does not fit.
//
// +kubebuilder:validation:Enum=Hold;Warn
type PreflightPolicy string

// The preflight policies.
const (
	PreflightHold PreflightPolicy = "Hold"
	PreflightWarn PreflightPolicy = "Warn"
)

// SupersedePolicy defines the reaction to a new template in mid-release.
//
// +kubebuilder:validation:Enum=Restart;Queue
type SupersedePolicy string

// The supersede policies.
const (
	SupersedeRestart SupersedePolicy = "Restart"
	SupersedeQueue   SupersedePolicy = "Queue"
)

// PodReplacementPolicy defines the time at which a deleted pod makes room for a new one.
//
// +kubebuilder:validation:Enum=TerminationStarted;Terminated
type PodReplacementPolicy string

// The policies for replacing pods.
const (
	ReplaceWhenTerminationStarted PodReplacementPolicy = "TerminationStarted"
	ReplaceWhenTerminated         PodReplacementPolicy = "Terminated"
)

// StepBackPolicy defines the reaction to updated pods beyond the target of a jump back.
//
// +kubebuilder:validation:Enum=KeepPods;RemovePods
type StepBackPolicy string

// The policies for a jump back.
const (
	StepBackKeepPods   StepBackPolicy = "KeepPods"
	StepBackRemovePods StepBackPolicy = "RemovePods"
)

// RollbackStrategy is the plan of a rollback.
type RollbackStrategy struct {
	// Steps are the steps of the rollback; a step without gates continues at once. Default: 1, 100%.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self[self.size()-1].replicas == '100%'",message="the last step must have replicas: 100%"
	// +kubebuilder:validation:XValidation:rule="self.map(s, type(s.replicas) == int ? int(s.replicas) : -1).filter(n, n >= 0).isSorted()",message="must not be fewer pods than in a step before it"
	// +kubebuilder:validation:XValidation:rule="!self.exists(s, type(s.replicas) == int && int(s.replicas) < 0)",message="replicas must not be negative"
	// +kubebuilder:validation:XValidation:rule="self.map(s, s.replicas == '100%' ? 1 : 0).isSorted()",message="after a step of 100% there must be no other"
	// +kubebuilder:validation:XValidation:rule="!self.exists(s, has(s.traffic) || (has(s.matches) && s.matches.size() > 0))",message="a rollback has no traffic and no matches: it takes all requests back first"
	// +listType=atomic
	Steps []Step `json:"steps"`
}

// Step is one batch: the number of pods with the new template at its end, and the gates before the
// next one.
type Step struct {
	// Replicas is the number of pods, or the percentage of spec.replicas (rounded up), that run the
	// new template at the end of this step.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	Replicas intstr.IntOrString `json:"replicas"`

	// MaxUnavailable is the number of pods, or the percentage of spec.replicas, that may be missing
	// from spec.replicas in this step: 1 for the first pods of a quorum and more later, for example.
	// Default: strategy.maxUnavailable.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Traffic is the percentage of requests for the new version once its pods of this step are
	// available. Default: the percentage of the step before, 0% at first, 100% in the last step. It
	// never falls.
	// +kubebuilder:validation:Pattern=`^(100|[1-9]?[0-9])%$`
	// +kubebuilder:validation:MaxLength=4
	// +optional
	Traffic string `json:"traffic,omitempty"`

	// Matches select requests that go to the new version at any percentage, in this step alone. A
	// request that satisfies one of the matches is selected.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Matches []RequestMatch `json:"matches,omitempty"`

	// Gates must all pass before the next step starts. Default: one manual gate, and none after the
	// last step.
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:XValidation:rule="self.filter(g, has(g.pullRequest)).size() <= 1",message="a step can have one pullRequest gate"
	// +listType=atomic
	// +optional
	Gates []GatePolicy `json:"gates,omitempty"`
}
