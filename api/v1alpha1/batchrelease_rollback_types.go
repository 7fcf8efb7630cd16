package v1alpha1

// RollbackRecord describes the cause of a rollback.
type RollbackRecord struct {
	// Trigger names the cause of the rollback.
	Trigger RollbackTrigger `json:"trigger"`
	// From is the revision that was rolled back.
	// +optional
	From string `json:"from,omitempty"`
	// Digest identifies the template of From, which stays quarantined in every spelling until another
	// one is released. It is empty if only a newer template of Git is quarantined.
	// +optional
	Digest string `json:"digest,omitempty"`
	// By names the user who requested it with sluice or the dashboard, as in Log; empty if unknown.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	By string `json:"by,omitempty"`
	// Message is a human readable message.
	// +optional
	Message string `json:"message,omitempty"`
}

// RollbackTrigger names the cause of a rollback.
//
// +kubebuilder:validation:Enum=Annotation;GitRevert;Deadline;GateRejected;Drift;History;Train;Member
type RollbackTrigger string

// The triggers of a rollback.
const (
	// TriggerAnnotation: a user requested it on the release.
	TriggerAnnotation RollbackTrigger = "Annotation"
	// TriggerGitRevert: the template from Git was stable before.
	TriggerGitRevert RollbackTrigger = "GitRevert"
	// TriggerDeadline: no progress within the deadline, and strategy.onFailure is Rollback.
	TriggerDeadline RollbackTrigger = "Deadline"
	// TriggerGateRejected: a gate whose onReject is Rollback was rejected.
	TriggerGateRejected RollbackTrigger = "GateRejected"
	// TriggerDrift: the template was changed by hand, and spec.drift is Revert.
	TriggerDrift RollbackTrigger = "Drift"
	// TriggerHistory: the status was lost, and the history lists the given template as rolled back.
	TriggerHistory RollbackTrigger = "History"
	// TriggerTrain: the train of the release returns.
	TriggerTrain RollbackTrigger = "Train"
	// TriggerMember: a member of the train failed, or returned on its own.
	TriggerMember RollbackTrigger = "Member"
)

// LeavesGit reports whether a rollback with trigger t leaves Git with the rolled back commit: a
// user requested it in the cluster, or it began automatically. That of a member whose train returns
// is the train's. Any other rollback, and a release, ends with the template in Git.
func (t RollbackTrigger) LeavesGit() bool {
	switch t {
	case TriggerAnnotation, TriggerDeadline, TriggerGateRejected, TriggerHistory, TriggerMember:
		return true
	case TriggerGitRevert, TriggerDrift, TriggerTrain:
		return false
	default:
		return false
	}
}
