package v1alpha1

// OrderKey is one criterion by which old pods are ordered.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type OrderKey struct {
	// NodeLabel orders by a label of the node that a pod runs on, for example zone by zone.
	// +optional
	NodeLabel *NodeLabelOrder `json:"nodeLabel,omitempty"`
	// DeletePriority orders by the annotation controller.alpha.kubernetes.io/delete-priority of a
	// pod: the larger number goes first. One that is missing, or is not a number, counts as 0.
	// +optional
	DeletePriority *DeletePriorityOrder `json:"deletePriority,omitempty"`
	// Age orders by the time of creation.
	// +optional
	Age AgeOrder `json:"age,omitempty"`
	// Name orders by the name of the pod.
	// +optional
	Name NameOrder `json:"name,omitempty"`
}

// NodeLabelOrder orders pods by a label of their nodes.
type NodeLabelOrder struct {
	// Key of the label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// Values go first, in this order. The others follow, by value, then the nodes without the label.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// DeletePriorityOrder has no settings.
type DeletePriorityOrder struct{}

// AgeOrder says whether the oldest or the newest pods go first.
//
// +kubebuilder:validation:Enum=OldestFirst;NewestFirst
type AgeOrder string

// The orders by age.
const (
	OldestFirst AgeOrder = "OldestFirst"
	NewestFirst AgeOrder = "NewestFirst"
)

// NameOrder says which way names count.
//
// +kubebuilder:validation:Enum=Ascending;Descending
type NameOrder string

// The orders by name.
const (
	Ascending  NameOrder = "Ascending"
	Descending NameOrder = "Descending"
)
