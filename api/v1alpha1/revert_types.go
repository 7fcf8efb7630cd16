package v1alpha1

// Revert is the pull request with which Git is to follow a rollback that Git did not ask for.
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
	// Branch is that of the pull request. It is named before it is made, and nobody can tell its name beforehand.
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
	// RevertRefused: there is none, because the file can't be changed for sure; the message says why.
	RevertRefused RevertState = "Refused"
	// RevertMerged: Git has followed.
	RevertMerged RevertState = "Merged"
	// RevertClosed: it was closed because it was no longer needed.
	RevertClosed RevertState = "Closed"
)
