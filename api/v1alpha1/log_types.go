package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LogEntry is something that happened to a release and that neither its gates nor its history show.
type LogEntry struct {
	Time metav1.Time `json:"time"`
	Type LogType     `json:"type"`
	// By names the user who requested it with sluice or the dashboard; empty if unknown. With the policies in config/policy,
	// the API server has authenticated this user; without them, By is a claim.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	By string `json:"by,omitempty"`
	// Cause names the reason why the release stopped, or the one that no longer stops it.
	// +optional
	Cause StopCause `json:"cause,omitempty"`
	// Revision, Commit and its Author, and Images are those that the entry is about: that were superseded, or rolled back to.
	// +optional
	Revision string `json:"revision,omitempty"`
	// +optional
	Commit string `json:"commit,omitempty"`
	// +optional
	Author string `json:"author,omitempty"`
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Images []string `json:"images,omitempty"`
	// State and Batch are where a superseded release stood.
	// +optional
	State ReleaseState `json:"state,omitempty"`
	// +optional
	Batch string `json:"batch,omitempty"`
	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// LogType names the event of a LogEntry.
//
// +kubebuilder:validation:Enum=Superseded;Stopped;Resumed;Retried;RollbackStarted
type LogType string

// What happened.
const (
	// LogSuperseded: another template superseded the release in progress.
	LogSuperseded LogType = "Superseded"
	// LogStopped: the release was paused or frozen, or its workload or template was changed.
	LogStopped LogType = "Stopped"
	// LogResumed: that is over.
	LogResumed LogType = "Resumed"
	// LogRetried: somebody requested a retry.
	LogRetried LogType = "Retried"
	// LogRollbackStarted: a rollback started.
	LogRollbackStarted LogType = "RollbackStarted"
)
