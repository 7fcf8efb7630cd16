package v1alpha1

// EndedRelease is a completed release or rollback, for clients that read the status at intervals
// and may have missed it.
type EndedRelease struct {
	// Commit is the commit that was released or rolled back.
	// +optional
	Commit string `json:"commit,omitempty"`
	// Revision is the revision that ran in the end.
	Revision string `json:"revision"`
	// Replicas is the number of its pods.
	Replicas int32 `json:"replicas"`
	// Trigger is the cause of a rollback; empty for a release.
	// +optional
	Trigger RollbackTrigger `json:"trigger,omitempty"`
	// Forced are the gates whose policies were overridden.
	// +listType=atomic
	// +optional
	Forced []ForcedGate `json:"forced,omitempty"`
	// ApprovedBy lists the users who passed the gates of a train.
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
}

// ForcedGate is a gate whose policy was overridden.
type ForcedGate struct {
	// Step is the index of the step before the gate.
	Step  int32 `json:"step"`
	Force `json:",inline"`
	Type  GateType `json:"type"`
}
