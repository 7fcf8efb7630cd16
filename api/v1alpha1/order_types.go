package v1alpha1

// OrderKey is one criterion for the order of old pods.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type OrderKey struct {
	// NodeLabel orders pods by a label of their node, for example zone by zone.
	// +optional
	NodeLabel *NodeLabelOrder `json:"nodeLabel,omitempty"`
	// DeletePriority orders pods by their annotation controller.alpha.kubernetes.io/delete-priority:
	// the larger number goes first. A missing or invalid number counts as 0.
	// +optional
	DeletePriority *DeletePriorityOrder `json:"deletePriority,omitempty"`
	// Age orders pods by their creation time.
	// +optional
	Age AgeOrder `json:"age,omitempty"`
	// Name orders pods by their name.
	// +optional
	Name NameOrder `json:"name,omitempty"`
}

// NodeLabelOrder orders pods by a label of their nodes.
type NodeLabelOrder struct {
	// Key is the key of the label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// Values are the label values that go first, in this order. The others follow, by value, then the
	// nodes without the label.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// DeletePriorityOrder has no settings.
type DeletePriorityOrder struct{}

// AgeOrder is the order by age: the oldest or the newest pods first.
//
// +kubebuilder:validation:Enum=OldestFirst;NewestFirst
type AgeOrder string

// The orders by age.
const (
	OldestFirst AgeOrder = "OldestFirst"
	NewestFirst AgeOrder = "NewestFirst"
)

// NameOrder is the order by name.
//
// +kubebuilder:validation:Enum=Ascending;Descending
type NameOrder string

// The orders by name.
const (
	Ascending  NameOrder = "Ascending"
	Descending NameOrder = "Descending"
)
