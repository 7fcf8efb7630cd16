package v1alpha1

// ConfigReference names a ConfigMap or Secret that is released with the template.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret)].filter(is, is).size() == 1",message="must name exactly one of configMap and secret"
type ConfigReference struct {
	// ConfigMap is the name of a ConfigMap of the repository, in the namespace of the release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ConfigMap string `json:"configMap,omitempty"`
	// Secret is the name of a Secret of the repository, in the namespace of the release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Secret string `json:"secret,omitempty"`
	// Copy is the name of the immutable copy that the template names. The ReleaseSource of the release
	// makes the copy, and writes this.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Copy string `json:"copy,omitempty"`
}
