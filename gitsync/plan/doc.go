// Package plan turns what a commit asks for and what the cluster has into writes; pure.
//
//	commit ──► tree ──► spec: Desired ──┐
//	caches and their overlay: Observed ─┼──► Next ──► Plan ──► writes ──► API server
//	this process: Remembered ───────────┘               └────► facts ──► status
//
// No write of a Plan depends on another of it. The caller carries them out, observes the results
// and asks again, until there are none. Next then lists the objects that match Git, those that
// don't, and those kept although Git lacks them.
//
// What holds:
//
//   - A freeze comes before anything else that a commit brings.
//   - The copies that a template names are there before it is written.
//   - A workload is made before its release, and never written again. One that was deleted is made
//     in the version that was approved last.
//   - Neither is written while the release of the cluster is of another workload, or of another
//     source.
//   - A release is not written while its StatefulSet has other volume claim templates than Git:
//     they never change.
//   - Nothing is deleted that a file which is wrong may hold, when nothing would be left, or when
//     more would go than stay.
//   - Stopping after any write and asking again, also without what was remembered, leads to the
//     same end.
package plan
