// Package plan turns one observation of a release into one plan: actions, status, wake-ups; pure.
//
// Next is a pure function: one Observation in, one Plan out. It holds no client, reads no clock and
// leaves its input as it was. The shell in package rollout observes, carries out the plan's actions
// in their order, and writes its status:
//
//	observe ──► Next ──► needs? ──► observe more, ask again
//	                └──► actions ──► status ──► wake-ups
//
// Inside:
//
//		Observation ──► snapshot ──► state ──► Decision ──► report ──► Plan
//
//	  - snapshot (snapshot.go) has the release in parts: record, history, steps, gates, hold, pods.
//	    Each part is a type in a file of its name.
//	  - the tables of states (states.go) have a row for each state: when it holds, what is done in
//	    it, and how the API, people and alerts see it.
//	  - stages (roll.go) list the parts of a pass that moves pods, takeOverStages (takeover.go) those
//	    of a take-over, requests (decide.go) what users and Git may ask for, causes (stop.go) what
//	    stops a release, wakes.go what wakes one up.
//	  - Decision (decision.go) collects actions, needs and wake-ups, and changes the record.
//	  - report (report.go, words.go, conditions.go, events.go) renders a decision for people.
//
// The package knows no kind of workload: it asks a mover (rollout/mover) how pods move. A record
// has no reason, message or condition in it: nothing is decided by words.
//
// A plan is safe to stop after any action: asking again from what is then observed leads to the
// same end. What must hold at every write:
//
//   - the pods add up to at most replicas + maxSurge, plus one pod at the
//     start of a release without surge (the native controller would undo any other order);
//   - no write takes the available pods below replicas - maxUnavailable;
//   - updated pods never exceed the target of the last step whose predecessors' gates passed;
//   - within a release the updated count never falls, except in a rollback or with fewer replicas;
//   - after a rollback is recorded no write raises the bad revision;
//   - while the workload is held it is paused.
//
// # What must be read live
//
// A cache may lag by any amount of time. Writes carry the resourceVersion of the object they
// change, which makes stale numbers of that object harmless. What else a write depends on must be
// live, that is read, or answered to a write of ours, in this pass: Next asks for it through
// Plan.Needs and plans the write only when it has it.
package plan
