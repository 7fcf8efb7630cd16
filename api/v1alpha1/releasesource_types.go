package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReleaseSource is a Git repository to release from.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rsrc,categories=sluice
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.ref.branch`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Commit",type=string,JSONPath=`.status.observedCommit`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name must be at most 63 characters: it is a label of what comes from the source"
type ReleaseSource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ReleaseSourceSpec   `json:"spec"`
	Status ReleaseSourceStatus `json:"status,omitempty"`
}

// ReleaseSourceList is a list of ReleaseSources.
//
// +kubebuilder:object:root=true
type ReleaseSourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ReleaseSource `json:"items"`
}

// ReleaseSourceSpec says where to read releases and how often.
type ReleaseSourceSpec struct {
	// URL of the repository: https://, ssh:// or user@host:path; http:// and file:// only where
	// the controller allows them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// Ref says what to follow.
	// +kubebuilder:default={branch: main}
	// +optional
	Ref GitReference `json:"ref,omitempty"`

	// Path is the folder to read, relative to the root of the repository.
	// +kubebuilder:default="."
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path string `json:"path,omitempty"`

	// Interval between two looks at the branch, spread by up to a tenth. Default 1m, at least 1s.
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="must be at least 1s"
	// +optional
	Interval metav1.Duration `json:"interval,omitzero"`

	// Timeout for one look at, or one fetch of, the repository. Default 60s.
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="must be from 1s to 1h"
	// +optional
	Timeout metav1.Duration `json:"timeout,omitzero"`

	// SecretRef names a Secret in the same namespace. For https: username and password (or
	// bearerToken), and ca.crt. For ssh: identity (private key), identity.password, known_hosts.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`

	// ServiceAccountName is the account in the same namespace as which everything from this
	// source is written. Default: the controller's own, or its --default-service-account.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Prune deletes releases that were taken out of the repository. Never all of them at once.
	// +optional
	Prune bool `json:"prune,omitempty"`

	// AllowRewrite follows the branch even where its head is no descendant of the last one.
	// +optional
	AllowRewrite bool `json:"allowRewrite,omitempty"`

	// Suspend stops reading the repository.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// GitReference says what to follow.
type GitReference struct {
	// Branch to follow.
	// +kubebuilder:default=main
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Branch string `json:"branch,omitempty"`
}

// LocalReference names an object in the same namespace.
type LocalReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ReleaseSourceStatus is what was last read from the repository.
type ReleaseSourceStatus struct {
	// ObservedCommit is the last commit that was read and applied.
	// +optional
	ObservedCommit string `json:"observedCommit,omitempty"`
	// LastSyncTime is when ObservedCommit was applied.
	// +optional
	LastSyncTime *metav1.Time `json:"lastSyncTime,omitempty"`
	// LastHandledSyncAt answers the annotation rollouts.sluice.dev/requestedAt with its value.
	// +optional
	LastHandledSyncAt string `json:"lastHandledSyncAt,omitempty"`
	// Files is how many manifest files were read.
	// +optional
	Files int32 `json:"files,omitempty"`
	// Releases is how many BatchReleases the repository holds.
	// +optional
	Releases int32 `json:"releases,omitempty"`
	// Errors in the files, the first 50.
	// +listType=atomic
	// +optional
	Errors []FileError `json:"errors,omitempty"`
	// ErrorCount is how many there are in all.
	// +optional
	ErrorCount int32 `json:"errorCount,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FileError is what is wrong with a file of the repository.
type FileError struct {
	// File is the path from the root of the repository.
	File string `json:"file"`
	// Line counts from 1; 0 where no line can be named.
	// +optional
	Line int32 `json:"line,omitempty"`
	// Message says what is wrong.
	Message string `json:"message"`
}
