package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ForgeReport is the last report to a forge about one object. It prevents a second, equal report.
type ForgeReport struct {
	// Commit and Context name the commit status.
	Commit  string `json:"commit"`
	Context string `json:"context"`
	// State, Description and URL are the posted values. Sluice posts again only if they would change,
	// and reads nothing else from them.
	State       string `json:"state"`
	Description string `json:"description"`
	// +optional
	URL string `json:"url,omitempty"`
	// Content holds the posted content as values, from which the next post is decided.
	// +optional
	Content *ReportContent `json:"content,omitempty"`
	// Posts is the number of statuses posted on this commit in this context.
	// +optional
	Posts int32 `json:"posts,omitempty"`
	// DeploymentID and DeploymentState identify the deployment on the forge and its state, if there is
	// one.
	// +optional
	DeploymentID int64 `json:"deploymentID,omitempty"`
	// DeploymentTask distinguishes the deployments of one repository.
	// +optional
	DeploymentTask string `json:"deploymentTask,omitempty"`
	// +optional
	DeploymentState string `json:"deploymentState,omitempty"`
	// ActiveDeploymentID identifies the earlier deployment that the forge shows as active until this
	// one succeeds; 0 for none.
	// +optional
	ActiveDeploymentID int64 `json:"activeDeploymentID,omitempty"`
	// Time is the time of the last post.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// ReportContent is the content of a commit status, as values. Its description is rendered from
// them.
type ReportContent struct {
	Kind ReportKind `json:"kind"`
	// Batch is the batch of the release, counted from 1, and Batches the number of batches; 0 if it
	// was at none.
	// +optional
	Batch int32 `json:"batch,omitempty"`
	// +optional
	Batches int32 `json:"batches,omitempty"`
	// Revision is the released revision, or the revision to which a rollback returns.
	// +optional
	Revision string `json:"revision,omitempty"`
	// PullRequest is the number of the pull request that brings Git back in line after a rollback.
	// +optional
	PullRequest int64 `json:"pullRequest,omitempty"`
	// ByHand means that a user must change Git by hand after a rollback.
	// +optional
	ByHand bool `json:"byHand,omitempty"`
	// Cause describes why a release failed, or is rolled back.
	// +optional
	Cause *ReportCause `json:"cause,omitempty"`
}

// ReportKind is the kind of a commit status.
//
// +kubebuilder:validation:Enum=Queued;Stopped;Updating;Waiting;Failed;Rejected;ApprovalRefused;NotReleasable;Drifted;RollingBack;RollbackStuck;RolledBack;Superseded;Deleted;NotReleased;Released;Reverted;NothingToRelease;FilesInvalid;RewriteRefused;FilesValid
type ReportKind string

// The types of commit status during the release of a commit, or before it.
const (
	// ReportQueued: the commit waits for another to be released, or for a stop to end.
	ReportQueued ReportKind = "Queued"
	// ReportStopped: the release is stopped until a user acts.
	ReportStopped ReportKind = "Stopped"
	// ReportUpdating: a batch is being updated.
	ReportUpdating ReportKind = "Updating"
	// ReportWaiting: a batch waits for gates.
	ReportWaiting ReportKind = "Waiting"
)

// The types of commit status of a release that went wrong. After the first four, it may still
// continue.
const (
	// ReportFailed: the release makes no progress.
	ReportFailed ReportKind = "Failed"
	// ReportRejected: a gate was rejected.
	ReportRejected ReportKind = "Rejected"
	// ReportApprovalRefused: an approval does not count.
	ReportApprovalRefused ReportKind = "ApprovalRefused"
	// ReportNotReleasable: the commit can't be released as it is.
	ReportNotReleasable ReportKind = "NotReleasable"
	// ReportDrifted: the released fields were changed.
	ReportDrifted ReportKind = "Drifted"
	// ReportRollingBack: the commit is being rolled back.
	ReportRollingBack ReportKind = "RollingBack"
	// ReportRollbackStuck: the rollback of the commit makes no progress.
	ReportRollbackStuck ReportKind = "RollbackStuck"
	// ReportRolledBack: the commit was rolled back.
	ReportRolledBack ReportKind = "RolledBack"
	// ReportSuperseded: another commit superseded this one before it was released.
	ReportSuperseded ReportKind = "Superseded"
	// ReportDeleted: the release was deleted before it completed.
	ReportDeleted ReportKind = "Deleted"
	// ReportNotReleased: the commit waited, and was not released because the workload was rolled back.
	ReportNotReleased ReportKind = "NotReleased"
)

// The types of commit status of a completed release.
const (
	// ReportReleased: the commit runs.
	ReportReleased ReportKind = "Released"
	// ReportReverted: an earlier revision runs, as the commit requests.
	ReportReverted ReportKind = "Reverted"
	// ReportNothingToRelease: the commit has the template that already runs.
	ReportNothingToRelease ReportKind = "NothingToRelease"
)

// The types of commit status of a source.
const (
	// ReportFilesInvalid: files of the commit have errors.
	ReportFilesInvalid ReportKind = "FilesInvalid"
	// ReportRewriteRefused: the branch was rewritten, and the commit is not read.
	ReportRewriteRefused ReportKind = "RewriteRefused"
	// ReportFilesValid: all files of the commit can be read, after an error was reported.
	ReportFilesValid ReportKind = "FilesValid"
)

// ReportCause is the cause of a failure or rollback.
type ReportCause struct {
	Kind ReportCauseKind `json:"kind"`
	// Batch and Batches are the position of the release when the rollback was requested; 0 if it was
	// at no batch.
	// +optional
	Batch int32 `json:"batch,omitempty"`
	// +optional
	Batches int32 `json:"batches,omitempty"`
	// Message is a human readable message.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// ReportCauseKind is the kind of a cause.
//
// +kubebuilder:validation:Enum=Message;Asked;AskedAfterRelease
type ReportCauseKind string

// The causes.
const (
	// CauseMessage: the cause in the message.
	CauseMessage ReportCauseKind = "Message"
	// CauseAsked: a user requested the rollback while the commit was being released.
	CauseAsked ReportCauseKind = "Asked"
	// CauseAskedAfterRelease: a user requested the rollback after the commit was released.
	CauseAskedAfterRelease ReportCauseKind = "AskedAfterRelease"
)
