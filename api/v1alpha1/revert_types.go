package v1alpha1

// Revert is the pull request that brings Git back in line after a rollback that did not come from Git.
type Revert struct {
	// Attempt is that of the rollback.
	Attempt int64 `json:"attempt"`
	// From is the revision that was rolled back, To the one whose template is put back.
	// +optional
	From string `json:"from,omitempty"`
	// +optional
	To string `json:"to,omitempty"`
	// State is how far it is.
	State RevertState `json:"state"`
	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
	// File is the one that the pull request changes.
	// +optional
	File string `json:"file,omitempty"`
	// Branch is the branch of the pull request. Sluice chooses the name before it creates the branch, and nobody can
	// predict it.
	// +optional
	Branch string `json:"branch,omitempty"`
	// PullRequest is unset until it is open.
	// +optional
	PullRequest *PullRequestReference `json:"pullRequest,omitempty"`
}

// RevertState is how far the pull request of a revert is.
//
// +kubebuilder:validation:Enum=Opening;Open;Declined;Refused;Merged;Closed
type RevertState string

// The states of a revert.
const (
	// RevertOpening: the pull request is being made.
	RevertOpening RevertState = "Opening"
	// RevertOpen: it waits for people.
	RevertOpen RevertState = "Open"
	// RevertDeclined: people closed it; it can be opened again.
	RevertDeclined RevertState = "Declined"
	// RevertRefused: there is none, because the file can't be changed safely; the message says why.
	RevertRefused RevertState = "Refused"
	// RevertMerged: Git has followed.
	RevertMerged RevertState = "Merged"
	// RevertClosed: it was closed because it was no longer needed.
	RevertClosed RevertState = "Closed"
)
