package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Gate is one condition for which a batch waits, bound to one attempt at one revision. Package
// rollout creates it; package approvals, or any other controller that implements a gate type,
// decides it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=sluice
// +kubebuilder:selectablefield:JSONPath=`.spec.releaseRef.name`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.spec.releaseRef.name`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name="Step",type=integer,JSONPath=`.spec.step`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Decision",type=string,JSONPath=`.status.decision`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Gate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GateSpec   `json:"spec"`
	Status GateStatus `json:"status,omitempty"`
}

// GateList is a list of Gates.
//
// +kubebuilder:object:root=true
type GateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gate `json:"items"`
}

// GateSpec binds a gate to one step of one attempt.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Gate is immutable"
type GateSpec struct {
	ReleaseRef ReleaseReference `json:"releaseRef"`
	// Revision is the pod template hash that the gate admits.
	Revision string `json:"revision"`
	// Attempt is the release's status.attempt.
	Attempt int64 `json:"attempt"`
	// Commit is the commit that brought the revision.
	// +optional
	Commit string `json:"commit,omitempty"`
	// StableCommit is the commit that ran before, if known. The commits after it are being released.
	// +optional
	StableCommit string `json:"stableCommit,omitempty"`
	// Step is the index of the step before the gate.
	// +kubebuilder:validation:Minimum=0
	Step int32 `json:"step"`
	// Index is the index of the policy in the step's list of gates. That of a guard is 2000 more than
	// its index in strategy.guards, with step 0.
	Index int32 `json:"index"`
	// Type is the type of the policy.
	Type GateType `json:"type"`
	// Policy is the step's gate policy at the time when the gate opened.
	Policy GatePolicy `json:"policy"`
	// Nonce is a random text that makes an approval of one gate useless for any other.
	Nonce string `json:"nonce"`
}

// ReleaseReference names a BatchRelease in the same namespace.
type ReleaseReference struct {
	// Name is the name of the release.
	Name string `json:"name"`
	// UID is the UID of the release.
	UID types.UID `json:"uid"`
}

// GateType is the type of a gate.
type GateType string

// The gate types.
const (
	GateManual GateType = "manual"
	GateNone   GateType = "none"
	GateSoak   GateType = "soak"
	GateWindow GateType = "window"

	GatePullRequest  GateType = "pullRequest"
	GateCommitStatus GateType = "commitStatus"
	GateCheckRun     GateType = "checkRun"

	GateJob GateType = "job"

	GateMetrics GateType = "metrics"
)

// GatePolicy describes a gate of a step: exactly one type, and the fields that apply to any type.
//
// +kubebuilder:validation:XValidation:rule="[has(self.manual), has(self.none), has(self.soak), has(self.window), has(self.pullRequest), has(self.commitStatus), has(self.checkRun), has(self.job), has(self.metrics)].filter(is, is).size() == 1",message="a gate has exactly one type"
type GatePolicy struct {
	// Manual waits for a user to patch status.currentStepState to Completed.
	// +optional
	Manual *ManualGate `json:"manual,omitempty"`
	// None continues at once.
	// +optional
	None *NoGate `json:"none,omitempty"`
	// Soak waits for a time after the step is done.
	// +optional
	Soak *SoakGate `json:"soak,omitempty"`
	// Window waits for a time of the week.
	// +optional
	Window *WindowGate `json:"window,omitempty"`
	// PullRequest waits for the merge of a pull request that Sluice opens for this gate. A step can
	// have one.
	// +optional
	PullRequest *PullRequestGate `json:"pullRequest,omitempty"`
	// CommitStatus waits until a status of the release commit is success.
	// +optional
	CommitStatus *CommitStatusGate `json:"commitStatus,omitempty"`
	// CheckRun waits until a check of the release commit is completed with success.
	// +optional
	CheckRun *CheckRunGate `json:"checkRun,omitempty"`
	// Job waits until a Job that runs once for this gate has succeeded.
	// +optional
	Job *JobGate `json:"job,omitempty"`
	// Metrics measures the new version, compares it with the old one, and ends by itself.
	// +optional
	Metrics *MetricsGate `json:"metrics,omitempty"`

	// OnReject defines the reaction to a rejected gate. Hold leaves the release where it is, Rollback
	// returns to the stable template. Default Hold. A rollback always stays where it is.
	// +optional
	OnReject RejectPolicy `json:"onReject,omitempty"`

	// Skippable allows a jump, by status.nextStepIndex or spec.releaseTo of the release, to skip the
	// gate. A jump can always skip a manual gate: a user who may request the jump may also confirm the
	// gate.
	// +optional
	Skippable bool `json:"skippable,omitempty"`
}

// RejectPolicy defines the reaction to a rejected gate.
//
// +kubebuilder:validation:Enum=Hold;Rollback
type RejectPolicy string

// The reject policies. An empty one means Hold. The CRD has no default, which would make the policy
// of a gate differ from the step's.
const (
	RejectHold     RejectPolicy = "Hold"
	RejectRollback RejectPolicy = "Rollback"
)

// ManualGate has no options.
type ManualGate struct{}

// NoGate has no options.
type NoGate struct{}

// SoakGate passes a given time after the step is done.
type SoakGate struct {
	// Duration is the time to wait, for example 10m; more than 0 and at most 30 days.
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('720h')",message="must be more than 0s and at most 720h"
	Duration metav1.Duration `json:"duration"`
}

// WindowGate passes while a window is open.
type WindowGate struct {
	// Schedule defines the times at which a window opens, as five cron fields (minute hour
	// day-of-month month day-of-week), for example "0 9-17 * * 1-5".
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule"`
	// TimeZone is the IANA name of a time zone. Default UTC.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// Duration is the time for which a window stays open. Default 1h, so that "0 9-17" is open from 9
	// to 18 o'clock.
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('720h')",message="must be more than 0s and at most 720h"
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// PullRequestGate defines whose approval lets a release continue. The approval is the merge, which
// adds the gate's record to the tracked branch. Approvers and teams list who may approve: the user
// who merges, or the reviewers if minApprovals is more than 0. If both are empty, every user with
// write access to the repository may. Users without write access never count.
// +kubebuilder:validation:XValidation:rule="!has(self.trustedPushers) || self.trustedPushers.size() == 0 || (has(self.forbidSelfApproval) && self.forbidSelfApproval)",fieldPath=".trustedPushers",message="has no effect without forbidSelfApproval: set that too, or remove trustedPushers"
type PullRequestGate struct {
	// MinApprovals is the number of reviewers who must have approved the merged head. Default 0: the
	// merge is the approval.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	// +optional
	MinApprovals int32 `json:"minApprovals,omitempty"`
	// Approvers are the logins of users whose approval counts. The login of an app is its slug with
	// [bot]; apps count only if they are listed here. A login with the number of its account, such as
	// octocat#583231, means that account alone.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=100
	// +listType=atomic
	// +optional
	Approvers []string `json:"approvers,omitempty"`
	// Teams lists teams whose members' approval counts: slug, or organization/slug. A slug alone is a
	// team of the repository's owner. A slug with the number of its team, such as octo-org/sre#4711,
	// means that team alone.
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=200
	// +listType=atomic
	// +optional
	Teams []string `json:"teams,omitempty"`
	// ForbidSelfApproval excludes everyone who contributed since the commit that ran before: authors,
	// committers and co-authors of commits, authors of pull requests, and users who pushed. If the
	// contributor of one of the commits is unknown, the gate does not pass.
	// +optional
	ForbidSelfApproval bool `json:"forbidSelfApproval,omitempty"`
	// TrustedPushers are the logins of programs whose pushes and pull requests forbidSelfApproval
	// accepts, such as renovate[bot]. A program acts for other users, so by default its pushes answer
	// for no commit. Do not name a program that a workflow on any branch controls, such as
	// github-actions[bot].
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=100
	// +listType=atomic
	// +optional
	TrustedPushers []string `json:"trustedPushers,omitempty"`
}

// CommitStatusGate passes when the newest status in a context on the release commit, posted by one
// of the creators, is success.
type CommitStatusGate struct {
	// Context is the context of the status, for example ci/smoke. Case does not matter. Sluice's own
	// contexts never count.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Context string `json:"context"`
	// Creators are the logins of users and apps whose statuses count; an app's is its slug with [bot].
	// Any user with write access to a repository can post any status, so name at least one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=100
	// +listType=atomic
	Creators []string `json:"creators"`
	// SinceOpened ignores statuses that were posted before the gate opened, by the forge's clock:
	// before the pods of the batch ran, or for an earlier attempt.
	// +optional
	SinceOpened bool `json:"sinceOpened,omitempty"`
}

// CheckRunGate passes when the newest run of a check on the release commit is completed with one
// of the conclusions.
type CheckRunGate struct {
	// Name is the name of the check, as the forge shows it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// App is the slug of the app that makes the check, for example github-actions. With its number,
	// such as github-actions#15368, it means that app alone.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	App string `json:"app"`
	// Conclusions are the conclusions that let the release continue. Default: success alone.
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	// +optional
	Conclusions []CheckConclusion `json:"conclusions,omitempty"`
	// SinceOpened ignores runs that started before the gate opened, by the forge's clock: before the
	// pods of the batch ran, or for an earlier attempt.
	// +optional
	SinceOpened bool `json:"sinceOpened,omitempty"`
}

// CheckConclusion is the conclusion of a check.
//
// +kubebuilder:validation:Enum=success;neutral;skipped
type CheckConclusion string

// The conclusions that a gate can accept.
const (
	CheckSuccess CheckConclusion = "success"
	CheckNeutral CheckConclusion = "neutral"
	CheckSkipped CheckConclusion = "skipped"
)

// JobGate passes when the Job that runs once for the gate has succeeded. A Job that fails, ends at
// its deadline or is deleted rejects the gate.
type JobGate struct {
	// Name begins the name of the Job. In Git it also names the Job of the repository from which the
	// template comes, if template is not set.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Template is the template of the Job (a batch/v1 JobTemplateSpec), of at most 32 KiB. It is stored
	// unchanged. Its backoffLimit is 0 by default.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +mapType=atomic
	// +kubebuilder:validation:Schemaless
	// +optional
	Template *runtime.RawExtension `json:"template,omitempty"`
	// Deadline is the time that the Job may take, with its retries; at least 1s and at most a day.
	// Default: activeDeadlineSeconds of the template, or else 10m.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be at least 1s and at most 24h"
	// +optional
	Deadline *metav1.Duration `json:"deadline,omitempty"`
}

// Decision is the decision on a gate: it waits, has passed or was rejected.
//
// +kubebuilder:validation:Enum=Waiting;Passed;Rejected
type Decision string

// The decisions. A gate without one is waiting.
const (
	DecisionWaiting  Decision = "Waiting"
	DecisionPassed   Decision = "Passed"
	DecisionRejected Decision = "Rejected"
)

// GateStatus holds the decision and its evidence.
type GateStatus struct {
	// +optional
	Decision Decision `json:"decision,omitempty"`
	// Evidence lists the facts on which the decision rests.
	// +listType=atomic
	// +optional
	Evidence []Evidence `json:"evidence,omitempty"`
	// Contributors are the forge's numbers of the accounts that contributed to the release, if the
	// policy excludes them.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +optional
	Contributors []int64 `json:"contributors,omitempty"`
	// Attestation is the controller's signed statement that the gate has passed: a DSSE envelope in
	// JSON with an in-toto statement, of at most 2 KiB. It is unset if the controller has no key.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Attestation string `json:"attestation,omitempty"`
	// AttestationKept is set once the repository has the attestation too, on refs/sluice/gates.
	// +optional
	AttestationKept bool `json:"attestationKept,omitempty"`
	// PullRequest is the pull request that was opened for this gate.
	// +optional
	PullRequest *PullRequestReference `json:"pullRequest,omitempty"`
	// Job is the Job that was created for this gate.
	// +optional
	Job *JobReference `json:"job,omitempty"`
	// Metrics are the measurements of a metrics gate, in the order of its policy.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Metrics []MetricStatus `json:"metrics,omitempty"`
	// Undecided is set once the metrics of the gate can't decide it. Then a user decides, as on a
	// manual gate.
	// +optional
	Undecided bool `json:"undecided,omitempty"`
	// Refusal describes why a merged pull request does not pass the gate, or a closed one does not
	// reject it: the policy does not accept how it was done, or by whom. It is unset while nothing is
	// refused.
	// +optional
	Refusal *Refusal `json:"refusal,omitempty"`
	// Record is the file that passes a pullRequest gate once it is on the tracked branch. It is set if
	// the source has no forge, so that users can add the file.
	// +optional
	Record *RecordFile `json:"record,omitempty"`
	// Force passes the gate in an emergency, whatever its policy. Users set it; the controller writes
	// all other fields of the status.
	// +optional
	Force *Force `json:"force,omitempty"`
	// Message is a human readable message.
	// +optional
	Message string `json:"message,omitempty"`
	// DecidedAt is the time at which the decision became Passed or Rejected.
	// +optional
	DecidedAt *metav1.Time `json:"decidedAt,omitempty"`
}

// Force records who overrides the policy of a gate, and why.
type Force struct {
	// By is the name of the user, as authenticated by the API server. The policies in config/policy
	// refuse any other name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by"`
	// Reason is a human readable reason.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
}

// Refusal describes why an answer does not pass a gate.
type Refusal struct {
	// Message is a human readable message: why, and what to do.
	Message string `json:"message"`
	// ToldDigest is the digest of the comment about the refusal on the pull request.
	// +optional
	ToldDigest string `json:"toldDigest,omitempty"`
}

// PullRequestReference names a pull request.
type PullRequestReference struct {
	// Source names the ReleaseSource through whose forge it was opened.
	Source SourceReference `json:"source"`
	// Branch is the branch that was made for the pull request.
	Branch string `json:"branch"`
	// Number is the number of the pull request; 0 while it is being opened.
	// +optional
	Number int64 `json:"number,omitempty"`
	// URL is the address of the pull request for users.
	// +optional
	URL string `json:"url,omitempty"`
	// Base is the commit on which the branch was made.
	// +optional
	Base string `json:"base,omitempty"`
	// Head is the commit that Sluice wrote on the branch. A merge of any other counts only if all that
	// is on top of it is the tracked branch. It is unset if Sluice lost the answer to its write.
	// +optional
	Head string `json:"head,omitempty"`
	// TextDigest is the digest of the title and body that Sluice wrote.
	// +optional
	TextDigest string `json:"textDigest,omitempty"`
}

// JobReference names a Job in the namespace of the gate.
type JobReference struct {
	// Name is the name of the Job.
	Name string `json:"name"`
	// UID is the UID of the Job. Another Job of that name never counts.
	UID types.UID `json:"uid"`
}

// SourceReference names a ReleaseSource.
type SourceReference struct {
	// Namespace is the namespace of the source.
	Namespace string `json:"namespace"`
	// Name is the name of the source.
	Name string `json:"name"`
}

// RecordFile is a file of the repository.
type RecordFile struct {
	// Path is the path from the root of the repository.
	Path string `json:"path"`
	// Content is the content of the file.
	Content string `json:"content"`
}

// EvidencePullRequestMerged is the kind of evidence of a merged pull request.
const EvidencePullRequestMerged = "PullRequestMerged"

// Evidence is one fact that a decision rests on.
type Evidence struct {
	// Kind is the kind of the fact, for example StatusPatch, SoakElapsed, WindowOpen,
	// PullRequestMerged, JobSucceeded.
	Kind string `json:"kind"`
	// Actor is the user or app that caused the fact, if known.
	// +optional
	Actor string `json:"actor,omitempty"`
	// ActorID is the forge's number of that account. Unlike the name, it never changes hands.
	// +optional
	ActorID int64 `json:"actorID,omitempty"`
	// ID is the forge's number of the fact: of a pull request, a review, a status, a check run.
	// +optional
	ID int64 `json:"id,omitempty"`
	// SHA is the commit of the fact.
	// +optional
	SHA string `json:"sha,omitempty"`
	// URL is the address of the fact for users.
	// +optional
	URL string `json:"url,omitempty"`
	// Detail is a human readable sentence.
	// +optional
	Detail string `json:"detail,omitempty"`
	// Time is the time of the fact.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}
