// Package story turns two versions of an object that follow one another into what happened between them: a release began, a
// batch is done, a gate passed; pure.
//
//	BatchRelease before, after ──► OfRelease ──► Facts ──► metrics, traces, notices
//	Gate before, after         ──► OfGate    ──►
//
// Metrics, traces and notices all tell the same facts, each in its own form.
//
// What must hold:
//
//   - a fact is read from typed fields, and never from a message or a reason;
//   - the same change gives the same facts with the same IDs, whichever process sees it;
//   - a version that is seen for the first time, after a start, tells nothing new.
package story
