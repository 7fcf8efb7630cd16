package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// Answer is one user's answer to a manual gate.
type Answer struct {
	// Gate is the UID of the Gate.
	Gate    types.UID `json:"gate"`
	Verdict Verdict   `json:"verdict"`
	// By is the name of the user, as authenticated by the API server. The policies in config/policy
	// refuse any other name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by"`
	// Message is a human readable message.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// Verdict is the decision in an answer.
//
// +kubebuilder:validation:Enum=Approve;Reject
type Verdict string

// The verdicts.
const (
	VerdictApprove Verdict = "Approve"
	VerdictReject  Verdict = "Reject"
)
