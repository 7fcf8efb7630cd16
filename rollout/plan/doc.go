// Package plan turns one observation of a release into one plan: actions, status, wake-up; pure.
//
// Next is a pure function: one Observation in, one Plan out. It holds no client,
// reads no clock and leaves its input as it was. The shell in package rollout
// observes, carries out the plan's actions in their order, and writes its status:
//
//	observe ──► Next ──► needs? ──► observe more, ask again
//	                └──► actions ──► status ──► wake-up
//
// Inside, a look (look.go) is the release as observed and recorded. Its State (state.go) says what it is doing or waiting for.
// Functions over looks return a Decision (decision.go, decide.go), which tell (tell.go, words.go) puts into words:
//
//	Observation ──► look ──► State ──► Decision ──► tell ──► Plan
//
// How pods move is no business of this package: it asks a mover (rollout/mover), and knows no kind of workload.
//
// A look never changes, and has no reason, message or condition in it: nothing is decided by words.
//
// A plan is safe to stop after any action: asking again from what is then observed
// leads to the same end. What must hold at every write:
//
//   - the pods add up to at most replicas + maxSurge, plus one pod at the
//     start of a release without surge (the native controller would undo any other order);
//   - no write takes the available pods below replicas - maxUnavailable;
//   - updated pods never exceed the target of the last step whose predecessors' gates passed;
//   - within a release the updated count never falls, except in a rollback or with fewer replicas;
//   - after a rollback is recorded no write raises the bad revision;
//   - while the workload is held it is paused, whatever else is written.
//
// # What must be read live
//
// A cache may lag by any amount of time. Writes carry the resourceVersion of the object
// they change, which makes stale numbers of that object harmless. What else a write
// depends on must be live, that is read, or answered to a write of ours, in this pass:
// Next asks for it through Plan.Needs and plans the write only when it has it.
package plan
