// Package approvals answers Gates.
//
// It watches Gates and the BatchReleases that wait for them, has package gate decide, and
// writes Gate.status, which nobody else writes for the gate types it knows:
//
//	Gate, BatchRelease (cache) ──► gate.Evaluate ──► waits ──► Gate.status, wake-up
//	                                   │
//	                                   └─ would pass ──► BatchRelease (live) ──► gate.Evaluate
//	                                                                   └──► Gate.status, event
//
// What must hold:
//
//   - a gate is opened on a live read of its release only: a cache that lags opens nothing;
//   - a decision is written to the very version of the Gate that it was made on. If the Gate
//     has changed since, the decision is dropped and made anew on what the watch brings;
//   - nothing is written where nothing changed, and the event follows the write.
package approvals
