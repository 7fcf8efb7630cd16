// Package inplace is the engine that moves pods with places: those of StatefulSets and DaemonSets.
//
// A pod of theirs has a place, an ordinal or a node. Sluice deletes the pod, and the native
// controller makes another one in its place; in which version, the spec of the workload says at
// that moment.
//
//	Workload ──► []Place ──► Count: pods by version
//	                    └──► in the order of the kind ──► Choose, by a Rule ──► Replacing: writes
//
// A kind describes the rest: which pods have which place, in which order they go, what keeps its
// native controller from replacing them, and when a pod comes back updated.
package inplace
