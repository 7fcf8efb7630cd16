// Package report turns objects into commit statuses, deployments, and the text of pull requests;
// pure.
//
//	BatchRelease, Gates ─┬─ Next ────────► statuses to post now ──posted──► After ─► status.report
//	                     ├─ Waiting ─────► the same of commits not released ──────► status.refusal
//	                     ├─ Deployment ──► deployment and its state
//	                     ├─ Approval ────► title and body of a pull request
//	                     └─ RevertWords ─► title and body of the one for a rollback
//	ReleaseSource ───────── Sync ───────► status to post now
//
// All of it is pure: it reads the last report from the object, so that reporting twice, or not
// knowing whether a report arrived, changes nothing in the end.
//
// What must hold:
//
//   - the last status shows the outcome: no status is pending after the end of an attempt, or once
//     another commit was released instead;
//   - something is reported on a change of batch or gate, not of a pod: a forge counts requests;
//   - nothing that a commit, a manifest or a policy says can be more than text to the reader of a
//     pull request.
package report
