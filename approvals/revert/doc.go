// Package revert puts the pod template of an earlier commit back into the file that holds it now;
// pure.
//
//	file now  ──Read──► File ─┐
//	                          ├─ With ─► file with the template of then
//	file then ──Read──► File ─┘
//
// A value that differs is replaced in place. What differs in its structure is replaced, added or
// removed as the smallest block that has it, as the earlier file has it. All of it is pure.
//
// What must hold:
//
//   - the result equals the file now, except for the template, which is the earlier one. With reads
//     the result again and compares before it returns it;
//   - outside of the template the file is byte for byte what it was; inside of it comments and
//     formatting stay where only values differ;
//   - what can't be done for sure is not done: the error is a sentence for people.
package revert
