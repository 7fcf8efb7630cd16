// Package lifecycle turns an object and the state of its pull request or statuses into intents:
// claim, open, post, close; pure.
//
//	object, facts ──► Next ──► intents ──► the executor of each kind, in package approvals
//
// All of it is pure. Facts are gathered without a write; what they are depends on the stage, which
// the object alone tells. What must hold:
//
//   - before something is opened, the object says so, guarded by the version that was decided on: what was claimed may
//     have been opened, and is looked for;
//   - intents are carried out in order, and each can be the last: whatever was done before a crash, observing again and
//     deciding again has the same result, and nothing is opened twice;
//   - where there is nothing to do there is no intent.
package lifecycle
