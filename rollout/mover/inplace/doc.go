// Package inplace has what the movers of StatefulSets and DaemonSets share: pods that are replaced
// where they are.
//
// A pod of theirs has a place, an ordinal or a node. Sluice deletes the pod, and the native
// controller makes another one in its place; in which version, the spec of the workload says at
// that moment.
package inplace
