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
//   - the result says what the file says now, except for the template, which is the earlier one. It is
//     read again and compared before it is handed out;
//   - outside of the template the file is byte for byte what it was; inside of it comments and
//     formatting stay where only values differ;
//   - what can't be done for sure is not done: the error is a sentence for people.
package revert
