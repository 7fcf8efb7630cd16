// Package v1alpha1 holds the API of Sluice: ReleaseSource (a Git repository to
// release from), BatchRelease (one workload released batch by batch) and Gate
// (one thing a batch waits for).
//
// The package has types, reasons and accessors, and no other logic.
//
// +kubebuilder:object:generate=true
// +groupName=rollouts.sluice.dev
package v1alpha1
