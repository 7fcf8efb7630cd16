package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Verify defines the signatures that commits need. A commit without them changes nothing.
type Verify struct {
	// Mode defines the commits that must be signed. Every: the head, and each commit before it since
	// the last one that was verified, on all sides of merges. Head: the head alone; its signer answers
	// for the commits before it. Default Every.
	// +kubebuilder:default=Every
	// +optional
	Mode VerifyMode `json:"mode,omitempty"`

	// Keys are the keys that count.
	Keys VerifyKeys `json:"keys"`

	// Since is a commit that counts as verified, with all commits before it: name one to accept
	// commits without a signature.
	// +kubebuilder:validation:Pattern=`^(|[0-9a-f]{40})$`
	// +optional
	Since string `json:"since,omitempty"`
}

// VerifyMode defines the commits that must be signed.
//
// +kubebuilder:validation:Enum=Every;Head
type VerifyMode string

// The modes.
const (
	VerifyEvery VerifyMode = "Every"
	VerifyHead  VerifyMode = "Head"
)

// VerifyKeys names OpenPGP keys (armored) or SSH keys (lines of allowed_signers, ssh-keygen(1)),
// 32 KiB at most.
//
// +kubebuilder:validation:XValidation:rule="[has(self.secretRef), has(self.configMapRef), has(self.file)].filter(is, is).size() == 1",message="must have exactly one of secretRef, configMapRef and file"
type VerifyKeys struct {
	// SecretRef names a Secret in the same namespace. Each of its entries has keys. Entries whose names
	// begin with forge have the keys of the forge.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`

	// ConfigMapRef names a ConfigMap in the same namespace, with entries as in a Secret. Its writers
	// can release anything.
	// +optional
	ConfigMapRef *LocalReference `json:"configMapRef,omitempty"`

	// File is a file of the repository, from its root. The keys in it count from the commit after the
	// one that brings them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	File string `json:"file,omitempty"`
}

// Verification is a commit that Sluice has verified.
type Verification struct {
	// Commit is the head that was verified.
	Commit string `json:"commit"`
	// Key is the fingerprint of the key that signed it; unset if the commit was taken as it was, since
	// it was released before, or spec.verify.since names it.
	// +optional
	Key string `json:"key,omitempty"`
	// Signer is the principal in allowed_signers, or the user ID of the OpenPGP key.
	// +optional
	Signer string `json:"signer,omitempty"`
	// At is the time of the check.
	At metav1.Time `json:"at"`
}
