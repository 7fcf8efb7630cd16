// Package lifecycle turns an object and the state of its pull request or statuses into intents:
// claim, open, post, close; pure.
//
//	object, facts ──► Next ──► intents ──► the executor of each kind, in package approvals
//
// All of it is pure. The stage of an object determines which facts the caller gathers, without a
// write. What must hold:
//
//   - the object claims a thing before it is opened, in a write guarded by the version that was
//     decided on: a claimed thing may exist, and is looked for;
//   - intents are carried out in order, and each can be the last: after a crash at any point,
//     another pass has the same result, and nothing is opened twice;
//   - there is no intent if there is nothing to do.
package lifecycle
