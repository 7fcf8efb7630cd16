// Package workload says what a release needs to know of a workload's object, whatever its kind, and
// which of its fields keep the native controller from rolling it.
//
//	kind         held by                                                    handed back by
//	Deployment   spec.paused, spec.strategy Recreate                        what both were
//	StatefulSet  spec.updateStrategy RollingUpdate, partition 2147483647    what it was
//	DaemonSet    spec.updateStrategy OnDelete                               what it was
//
// The object of each kind is in the package of its mover, its room; this package lists the rooms.
package workload
