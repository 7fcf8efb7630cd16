// Package approvals opens what a Gate needs on the forge, gathers its facts, writes its decision,
// and reports progress to the forge.
//
// Gates that need no forge are decided by what the cluster says:
//
//	Gate, BatchRelease (cache) ──► gate.Evaluate ──► waits ──► Gate.status, wake-up
//	                                   │
//	                                   └─ would pass ──► BatchRelease (live) ──► gate.Evaluate
//	                                                                   └──► Gate.status, event
//
// Each kind of thing on a forge has a controller of its own, so that a forge that hangs delays
// nothing else. All controllers run the same pass (run, in intents.go): gather facts without a
// write, derive the intents in package lifecycle, and carry out one after the other:
//
//	store.read ──► gather ──► lifecycle.Next ──► intents ──► do ──► subject.settle
//
// A gate: webhook (annotation), Git (ReleaseSource.status.approvals) or an interval are reasons to
// ask the forge:
//
//	Gate ──► ClaimGate (finalizer) ──► OpenPull ──► Gate.status.pullRequest
//	facts of the forge ──► gate.Evaluate ──► RecordGate
//	Gate passed or deleted ──► ClosePull, RemoveBranch ──► LetGateGo
//
// Reports go the other way. They read objects only, so there is no circle:
//
//	BatchRelease, Gates ──► report.Next ──► PostStatus, Deploy ──► BatchRelease.status.report
//	ReleaseSource       ──► report.Sync ──► commit status      ──► ReleaseSource.status.report
//
// A rollback that Git did not request gets a pull request that brings Git back in line:
//
//	BatchRelease (quarantined) ──► ClaimRevert (status.revert)
//	    ──► file at the tip, file of then ──► revert.With ──► OpenRevert
//	quarantine over ──► ClosePull, RemoveBranch ──► RecordRevert
//
// What must hold:
//
//   - a gate is opened on a live read of its release only: a cache that lags opens nothing;
//   - a decision is written to the version of the Gate that it was made on. If the Gate has changed
//     since, the watch starts another pass;
//   - nothing is opened on a forge before the Gate claims it: after a crash it is looked for, and
//     never opened twice;
//   - each source has a connection of its own: a slow, limited or missing forge is left alone for a
//     while, and delays no other source;
//   - nothing is written where nothing changed, and the event follows the write.
package approvals
