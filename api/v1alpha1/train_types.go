package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A train is a BatchRelease with members: other releases of its namespace, which a commit releases
// together, in the steps of the train.

// TrainMember is a release of a train, or a group of them.
type TrainMember struct {
	// Name is the name of a BatchRelease or, with a selector, of the group.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Selector selects the releases of a group by the labels that they have in Git.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=8
	// +optional
	Selector map[string]string `json:"selector,omitempty"`
	// After names the members that must be ahead of this one.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=member
	// +optional
	After []Predecessor `json:"after,omitempty"`
}

// Predecessor is a member of a train that another one waits for.
type Predecessor struct {
	// Member is the name of the member, or of the group.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Member string `json:"member"`
	// Reached is the step, counted from 1, that the member must have done before this one starts its
	// first step; Completed is the last one. Default Completed.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^Completed$`
	// +optional
	Reached *intstr.IntOrString `json:"reached,omitempty"`
}

// ReachedCompleted is the last step, as Predecessor.Reached names it.
const ReachedCompleted = "Completed"

// Lockstep limits how far members of a train are apart.
type Lockstep struct {
	// MaxSkew limits the lead of a member over the slowest one: in steps, from 0 to 50, or as a
	// percentage of its pods, from 1% to 99%. 0 lets no member start a step before all have done the
	// one before.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^[1-9][0-9]?%$')",message="must be a number of steps >= 0 or a percentage from 1% to 99%"
	MaxSkew intstr.IntOrString `json:"maxSkew"`
}

// Steps returns the number of steps that a member may be ahead; negative if they are not limited.
func (l *Lockstep) Steps() int32 {
	if l == nil || l.MaxSkew.Type == intstr.String {
		return -1
	}
	return l.MaxSkew.IntVal
}

// Percent returns the percentage of its pods that a member may be ahead; 0 if it is not limited.
func (l *Lockstep) Percent() int32 {
	if l == nil || l.MaxSkew.Type == intstr.Int {
		return 0
	}
	percent, err := intstr.GetScaledValueFromIntOrPercent(&l.MaxSkew, 100, false)
	if err != nil {
		return 0
	}
	return int32(percent)
}

// MemberTemplate identifies the template of a member of a train.
type MemberTemplate struct {
	// Name is the name of the release.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Group is the name of the entry of spec.members that the release belongs to.
	// +kubebuilder:validation:MaxLength=63
	Group string `json:"group"`
	// Template is the digest of its spec.template as given.
	// +kubebuilder:validation:MaxLength=64
	Template string `json:"template"`
}

// TrainRun is the release of a train's members by one commit. It has the members that the commit
// changes, which stay the same until the run ends.
type TrainRun struct {
	// Members are the releases of the run.
	// +kubebuilder:validation:MaxItems=2000
	// +listType=atomic
	// +optional
	Members []RunMember `json:"members,omitempty"`
	// StableCommit is the commit of the last run that all members completed; empty if there was none.
	// The commits after it are being released.
	// +optional
	StableCommit string `json:"stableCommit,omitempty"`
	// Passed is the number of steps whose gates have passed.
	// +optional
	Passed int32 `json:"passed,omitempty"`
	// UpdatedPercent is the percentage of its pods, rounded up, that a member may have updated now, if
	// strategy.lockstep.maxSkew is a percentage.
	// +optional
	UpdatedPercent *int32 `json:"updatedPercent,omitempty"`
	// ApprovedBy lists the users who passed the gates.
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
	// Message says why members return.
	// +optional
	Message string `json:"message,omitempty"`
}

// RunMember says how far a member of a run may go.
type RunMember struct {
	// Name is the name of the release.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Group is the entry of spec.members that the release belongs to.
	// +kubebuilder:validation:MaxLength=63
	Group string `json:"group"`
	// Template is the digest of its spec.template as given.
	// +kubebuilder:validation:MaxLength=64
	Template string `json:"template"`
	// Was is the digest of the template that it ran before, as given; empty if unknown.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Was string `json:"was,omitempty"`
	// Revision is the revision that it ran when the run ended, if it had returned.
	// +optional
	Revision string `json:"revision,omitempty"`
	// Steps is the number of steps that it may start.
	// +optional
	Steps int32 `json:"steps,omitempty"`
	// Returns means that it starts no more steps, and returns to the template that was stable before.
	// +optional
	Returns bool `json:"returns,omitempty"`
	// Back means that it is its turn to return: the members that come after it have.
	// +optional
	Back bool `json:"back,omitempty"`
}

// Returned returns the names of the members that return, or have returned.
func (r *TrainRun) Returned() []string {
	var names []string
	if r == nil {
		return names
	}
	for _, m := range r.Members {
		if m.Returns {
			names = append(names, m.Name)
		}
	}
	return names
}

// TrainProgress is how far a member is in the run of its train.
type TrainProgress struct {
	// Train is the name of the train.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Train string `json:"train,omitempty"`
	// Attempt is the status.attempt of the train that began the run.
	Attempt int64 `json:"attempt"`
	// Done is the number of steps whose pods are as the step says.
	// +optional
	Done int32 `json:"done,omitempty"`
	// Answer is the member's answer to the train, if it neither goes on nor returns.
	// +optional
	Answer MemberAnswer `json:"answer,omitempty"`
}

// MemberAnswer is the answer of a member to its train.
//
// +kubebuilder:validation:Enum=Refused;CannotReturn
type MemberAnswer string

// The answers of a member.
const (
	// MemberRefused: a user rolled the member back before it began. The train returns.
	MemberRefused MemberAnswer = "Refused"
	// MemberCannotReturn: there is no stable template to return to. The member stays as it is.
	MemberCannotReturn MemberAnswer = "CannotReturn"
)
