// Package handback hands workloads back without the controller. It needs nothing but the workloads:
// what each gets back is in its annotation. Where the BatchRelease and the templates that were kept
// for it are still there, they are used.
//
// Routes that share requests between versions come first: pods go once a workload is handed back,
// and no request may be sent to them then.
//
//	routes ──► restored ──► one guarded write each
//	workloads ──► decide ──► one guarded write each ──► finalizers, on request
//
// What holds: a workload is written only while it is what was decided on, and in one write, so that
// the native controller never sees half of it. A second run finds nothing to do. Where the
// admission policy is installed, that one write carries the break-glass annotation, and the next
// removes it.
package handback
