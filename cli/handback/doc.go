// Package handback hands workloads back without the controller. It needs only the workloads: the
// annotation of each stores what to restore. It uses the BatchRelease, and the templates kept for
// it, where they exist.
//
// Routes that share requests between versions come first: pods go once a workload is handed back,
// and no request may be sent to them then. The functions of the planner decide: traffic.Next when
// routes are restored and nobody uses those of before, plan.LetGo what a workload gets.
//
//	routes ──► traffic.Next ──► one guarded write for each, until it is done
//	workloads ──► plan.LetGo ──► one guarded write each ──► finalizers, on request
//
// What holds: a workload is written only while it is what was decided on, and in one write, so that
// the native controller never sees half of it. A second run finds nothing to do. Under the
// admission policy that write carries the break-glass annotation, and the next removes it.
package handback
