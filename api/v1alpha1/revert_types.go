package v1alpha1

// Revert is the pull request that brings Git back in line after a rollback that did not come from
// Git.
type Revert struct {
	// Attempt is the attempt of the rollback.
	Attempt int64 `json:"attempt"`
	// From is the revision that was rolled back.
	// +optional
	From string `json:"from,omitempty"`
	// To is the revision whose template the pull request restores.
	// +optional
	To string `json:"to,omitempty"`
	// State is the state of the pull request.
	State RevertState `json:"state"`
	// Message is a human readable message.
	// +optional
	Message string `json:"message,omitempty"`
	// File is the file that the pull request changes.
	// +optional
	File string `json:"file,omitempty"`
	// Branch is the branch of the pull request. Sluice chooses the name, which can't be predicted,
	// before it creates the branch.
	// +optional
	Branch string `json:"branch,omitempty"`
	// PullRequest is the open pull request; unset until it is open.
	// +optional
	PullRequest *PullRequestReference `json:"pullRequest,omitempty"`
}

// RevertState is the state of the pull request of a revert.
//
// +kubebuilder:validation:Enum=Opening;Open;Declined;Refused;Merged;Closed
type RevertState string

// The states of a revert.
const (
	// RevertOpening: the pull request is being opened.
	RevertOpening RevertState = "Opening"
	// RevertOpen: it waits for a merge.
	RevertOpen RevertState = "Open"
	// RevertDeclined: it was closed; it can be opened again.
	RevertDeclined RevertState = "Declined"
	// RevertRefused: there is no pull request, because the file can't be changed safely; the message
	// explains why.
	RevertRefused RevertState = "Refused"
	// RevertMerged: it was merged, and Git is back in line.
	RevertMerged RevertState = "Merged"
	// RevertClosed: it was closed because it was no longer needed.
	RevertClosed RevertState = "Closed"
)
