package v1alpha1

// RollbackRecord says why a rollback was begun.
type RollbackRecord struct {
	// Trigger names the cause of the rollback.
	Trigger RollbackTrigger `json:"trigger"`
	// From is the revision that is left.
	// +optional
	From string `json:"from,omitempty"`
	// InGit says that Git gave the template of From when the rollback began. It stays quarantined, however Git
	// writes it, until Git gives another one.
	// +optional
	InGit bool `json:"inGit,omitempty"`
	// By names the user who requested it with sluice or the dashboard, as in Log; empty if unknown.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	By string `json:"by,omitempty"`
	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// RollbackTrigger names the cause of a rollback.
//
// +kubebuilder:validation:Enum=Annotation;GitRevert;Deadline;GateRejected;Drift;History
type RollbackTrigger string

// The triggers of a rollback.
const (
	// TriggerAnnotation: somebody requested it on the release.
	TriggerAnnotation RollbackTrigger = "Annotation"
	// TriggerGitRevert: the template from Git had been stable before.
	TriggerGitRevert RollbackTrigger = "GitRevert"
	// TriggerDeadline: no progress within the deadline, and strategy.onFailure is Rollback.
	TriggerDeadline RollbackTrigger = "Deadline"
	// TriggerGateRejected: a gate whose onReject is Rollback was rejected.
	TriggerGateRejected RollbackTrigger = "GateRejected"
	// TriggerDrift: somebody changed the template by hand, and spec.drift is Revert.
	TriggerDrift RollbackTrigger = "Drift"
	// TriggerHistory: the status was lost, and the history says that the template that is given was rolled back.
	TriggerHistory RollbackTrigger = "History"
)

// LeavesGit reports whether a rollback that was begun by t leaves a commit that Git still has: somebody requested
// it in the cluster, or it began by itself. Any other rollback, and a release, ends with what Git has.
func (t RollbackTrigger) LeavesGit() bool {
	switch t {
	case TriggerAnnotation, TriggerDeadline, TriggerGateRejected, TriggerHistory:
		return true
	case TriggerGitRevert, TriggerDrift:
		return false
	default:
		return false
	}
}
