package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LogEntry is an event of a release that neither its gates nor its history show.
type LogEntry struct {
	// Time is the time of the event.
	Time metav1.Time `json:"time"`
	Type LogType     `json:"type"`
	// By names the user who requested it with sluice or the dashboard; empty if unknown. With the
	// policies in config/policy, the API server has authenticated the user; without them, By is a
	// claim.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	By string `json:"by,omitempty"`
	// Cause names the cause that stopped the release, or that no longer stops it.
	// +optional
	Cause StopCause `json:"cause,omitempty"`
	// Revision is the revision that was superseded, or to which a rollback returns.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Commit is the commit that brought Revision.
	// +optional
	Commit string `json:"commit,omitempty"`
	// Author is the author of Commit.
	// +optional
	Author string `json:"author,omitempty"`
	// Images are the images of Revision.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Images []string `json:"images,omitempty"`
	// State is the state in which a release was superseded.
	// +optional
	State ReleaseState `json:"state,omitempty"`
	// Batch is the batch in which a release was superseded.
	// +optional
	Batch string `json:"batch,omitempty"`
	// Message is a human readable message.
	// +optional
	Message string `json:"message,omitempty"`
}

// LogType is the type of a LogEntry.
//
// +kubebuilder:validation:Enum=Superseded;Stopped;Resumed;Retried;RollbackStarted
type LogType string

// The types of log entries.
const (
	// LogSuperseded: another template superseded the release in progress.
	LogSuperseded LogType = "Superseded"
	// LogStopped: the release was paused or frozen, or its workload or template was changed.
	LogStopped LogType = "Stopped"
	// LogResumed: the cause of a stop is gone.
	LogResumed LogType = "Resumed"
	// LogRetried: a user requested a retry.
	LogRetried LogType = "Retried"
	// LogRollbackStarted: a rollback started.
	LogRollbackStarted LogType = "RollbackStarted"
)
