package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ForgeReport is what was last reported to a forge about one object, so that it is not reported twice.
type ForgeReport struct {
	// Commit and Context name the commit status.
	Commit  string `json:"commit"`
	Context string `json:"context"`
	// State, Description and URL are what was posted. Sluice posts again only if they would change, and reads nothing
	// else from them.
	State       string `json:"state"`
	Description string `json:"description"`
	// +optional
	URL string `json:"url,omitempty"`
	// Content is what was posted, as values: what is posted next depends on it.
	// +optional
	Content *ReportContent `json:"content,omitempty"`
	// Posts is how many statuses were posted on this commit in this context.
	// +optional
	Posts int32 `json:"posts,omitempty"`
	// DeploymentID and DeploymentState are those of the deployment on the forge, if there is one.
	// +optional
	DeploymentID int64 `json:"deploymentID,omitempty"`
	// DeploymentTask tells the deployments of one repository apart.
	// +optional
	DeploymentTask string `json:"deploymentTask,omitempty"`
	// +optional
	DeploymentState string `json:"deploymentState,omitempty"`
	// Time of the last post.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// ReportContent is what a commit status says, as values. Its description is rendered from them.
type ReportContent struct {
	Kind ReportKind `json:"kind"`
	// Batch is the batch that the release was at, counted from 1, and Batches how many there were; 0 where it was at none.
	// +optional
	Batch int32 `json:"batch,omitempty"`
	// +optional
	Batches int32 `json:"batches,omitempty"`
	// Revision is the one that was released, or that a rollback goes back to.
	// +optional
	Revision string `json:"revision,omitempty"`
	// PullRequest is the number of the one that brings Git back in line after a rollback, once merged.
	// +optional
	PullRequest int64 `json:"pullRequest,omitempty"`
	// ByHand says that somebody must change Git by hand after a rollback.
	// +optional
	ByHand bool `json:"byHand,omitempty"`
	// Cause says why a release failed, or is rolled back.
	// +optional
	Cause *ReportCause `json:"cause,omitempty"`
}

// ReportKind is what a commit status says.
//
// +kubebuilder:validation:Enum=Queued;Stopped;Updating;Waiting;Failed;Rejected;ApprovalRefused;NotReleasable;Drifted;RollingBack;RollbackStuck;RolledBack;Superseded;Deleted;NotReleased;Released;Reverted;NothingToRelease;FilesInvalid;RewriteRefused;FilesValid
type ReportKind string

// What a commit status says during the release of its commit, or before it.
const (
	// ReportQueued: the commit waits for another to be released, or for a stop to end.
	ReportQueued ReportKind = "Queued"
	// ReportStopped: the release is stopped until somebody acts.
	ReportStopped ReportKind = "Stopped"
	// ReportUpdating: a batch is being updated.
	ReportUpdating ReportKind = "Updating"
	// ReportWaiting: a batch waits for gates.
	ReportWaiting ReportKind = "Waiting"
)

// What a commit status says of a release that went wrong. After the first four, it may still continue.
const (
	// ReportFailed: the release makes no progress.
	ReportFailed ReportKind = "Failed"
	// ReportRejected: a gate was rejected.
	ReportRejected ReportKind = "Rejected"
	// ReportApprovalRefused: an approval was given that does not count.
	ReportApprovalRefused ReportKind = "ApprovalRefused"
	// ReportNotReleasable: the commit can't be released as it is.
	ReportNotReleasable ReportKind = "NotReleasable"
	// ReportDrifted: somebody has changed what was released.
	ReportDrifted ReportKind = "Drifted"
	// ReportRollingBack: the commit is being rolled back from.
	ReportRollingBack ReportKind = "RollingBack"
	// ReportRollbackStuck: the rollback from the commit makes no progress.
	ReportRollbackStuck ReportKind = "RollbackStuck"
	// ReportRolledBack: the commit was rolled back from.
	ReportRolledBack ReportKind = "RolledBack"
	// ReportSuperseded: another commit superseded this one before it was released.
	ReportSuperseded ReportKind = "Superseded"
	// ReportDeleted: the release was deleted before it completed.
	ReportDeleted ReportKind = "Deleted"
	// ReportNotReleased: the commit waited, and was not released because the workload was rolled back.
	ReportNotReleased ReportKind = "NotReleased"
)

// What a commit status says of a completed release.
const (
	// ReportReleased: the commit runs.
	ReportReleased ReportKind = "Released"
	// ReportReverted: an earlier revision runs, as the commit asks.
	ReportReverted ReportKind = "Reverted"
	// ReportNothingToRelease: the commit asks for what runs.
	ReportNothingToRelease ReportKind = "NothingToRelease"
)

// What a commit status says of a source.
const (
	// ReportFilesInvalid: files of the commit have mistakes.
	ReportFilesInvalid ReportKind = "FilesInvalid"
	// ReportRewriteRefused: the branch was rewritten, and the commit is not read.
	ReportRewriteRefused ReportKind = "RewriteRefused"
	// ReportFilesValid: all files of the commit can be read, after an error was reported.
	ReportFilesValid ReportKind = "FilesValid"
)

// ReportCause is why a release failed, or is rolled back.
type ReportCause struct {
	Kind ReportCauseKind `json:"kind"`
	// Batch and Batches are where the release was when the rollback was requested; 0 where it was at no batch.
	// +optional
	Batch int32 `json:"batch,omitempty"`
	// +optional
	Batches int32 `json:"batches,omitempty"`
	// Message is a sentence for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// ReportCauseKind is what a cause is.
//
// +kubebuilder:validation:Enum=Message;Asked;AskedAfterRelease
type ReportCauseKind string

// The causes.
const (
	// CauseMessage: what the message says.
	CauseMessage ReportCauseKind = "Message"
	// CauseAsked: somebody requested the rollback while the commit was being released.
	CauseAsked ReportCauseKind = "Asked"
	// CauseAskedAfterRelease: somebody requested the rollback after the commit was released.
	CauseAskedAfterRelease ReportCauseKind = "AskedAfterRelease"
)
