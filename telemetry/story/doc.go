// Package story turns two consecutive versions of an object into what happened between them: a
// release began, a batch is done, a gate passed; pure.
//
//	BatchRelease before, after ──► OfRelease ──► Facts ──► metrics, traces, notices
//	Gate before, after         ──► OfGate    ──►
//
// Metrics, traces and notices all report the same facts, each in its own form.
//
// What must hold:
//
//   - a fact is read from typed fields, and never from a message or a reason;
//   - the same change gives the same facts with the same IDs, whichever process sees it;
//   - the first version that a process sees of an object, after its start, gives no facts.
package story
