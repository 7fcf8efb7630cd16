package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Gate is one thing that a batch waits for, bound to one attempt at one revision.
// The rollout part makes it, the approvals part (or any other controller that implements a
// gate type) decides it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=sluice
// +kubebuilder:selectablefield:JSONPath=`.spec.releaseRef.name`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.spec.releaseRef.name`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name="Step",type=integer,JSONPath=`.spec.step`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Decision",type=string,JSONPath=`.status.decision`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Gate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GateSpec   `json:"spec"`
	Status GateStatus `json:"status,omitempty"`
}

// GateList is a list of Gates.
//
// +kubebuilder:object:root=true
type GateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gate `json:"items"`
}

// GateSpec binds a gate to what it lets through.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Gate is immutable"
type GateSpec struct {
	ReleaseRef ReleaseReference `json:"releaseRef"`
	// Revision is the pod template hash that the gate lets on.
	Revision string `json:"revision"`
	// Attempt is the release's status.attempt.
	Attempt int64 `json:"attempt"`
	// Commit brought the revision.
	// +optional
	Commit string `json:"commit,omitempty"`
	// Step is the index of the step after which the gate stands.
	Step int32 `json:"step"`
	// Index is the place of the policy in the step's list of gates.
	Index int32 `json:"index"`
	// Type is the one field that is set in policy.
	Type GateType `json:"type"`
	// Policy is the step's gate, as it was when the gate opened.
	Policy GatePolicy `json:"policy"`
	// Nonce is random and makes an approval for one gate useless for any other.
	Nonce string `json:"nonce"`
}

// ReleaseReference names a BatchRelease in the same namespace.
type ReleaseReference struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
}

// GateType names the kind of a gate.
type GateType string

// The gate types.
const (
	GateManual GateType = "manual"
	GateNone   GateType = "none"
	GateSoak   GateType = "soak"
	GateWindow GateType = "window"
)

// GatePolicy is a gate as a step asks for it: exactly one of its fields is set.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type GatePolicy struct {
	// Manual waits for a person to patch status.currentStepState to Completed.
	// +optional
	Manual *ManualGate `json:"manual,omitempty"`
	// None goes on at once.
	// +optional
	None *NoGate `json:"none,omitempty"`
	// Soak waits for some time after the step is done.
	// +optional
	Soak *SoakGate `json:"soak,omitempty"`
	// Window waits for a time of the week.
	// +optional
	Window *WindowGate `json:"window,omitempty"`
}

// ManualGate has no options.
type ManualGate struct{}

// NoGate has no options.
type NoGate struct{}

// SoakGate passes when a time has gone by since the step was done.
type SoakGate struct {
	// Duration, for example 10m. More than 0 and at most 30 days.
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('720h')",message="must be more than 0s and at most 720h"
	Duration metav1.Duration `json:"duration"`
}

// WindowGate passes while a window is open.
type WindowGate struct {
	// Schedule says when a window opens: five cron fields (minute hour day-of-month month
	// day-of-week), for example "0 9-17 * * 1-5".
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule"`
	// TimeZone is an IANA name. Default UTC.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
	// Duration is how long a window stays open. Default 1h, so that "0 9-17" is open from 9 to 18 o'clock.
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('720h')",message="must be more than 0s and at most 720h"
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// Decision is what is known of a gate.
//
// +kubebuilder:validation:Enum=Waiting;Passed;Rejected
type Decision string

// The decisions. A gate without one is waiting.
const (
	DecisionWaiting  Decision = "Waiting"
	DecisionPassed   Decision = "Passed"
	DecisionRejected Decision = "Rejected"
)

// GateStatus is the decision and what it rests on.
type GateStatus struct {
	// +optional
	Decision Decision `json:"decision,omitempty"`
	// Evidence is what the decision rests on.
	// +listType=atomic
	// +optional
	Evidence []Evidence `json:"evidence,omitempty"`
	// Message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
	// DecidedAt is when the decision became Passed or Rejected.
	// +optional
	DecidedAt *metav1.Time `json:"decidedAt,omitempty"`
}

// Evidence is one fact that a decision rests on.
type Evidence struct {
	// Kind of the fact, for example StatusPatch, SoakElapsed, WindowOpen.
	Kind string `json:"kind"`
	// Actor who brought it about, as far as it is known.
	// +optional
	Actor string `json:"actor,omitempty"`
	// Detail is a sentence for people.
	// +optional
	Detail string `json:"detail,omitempty"`
	// Time of the fact.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}
