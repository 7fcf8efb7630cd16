// Package verb lists what people can request of a release; pure.
//
//	Situation, Request ──► Verb: done already? possible? ──► Changes ──► words
//
// The command line and the dashboard share the table. What must hold:
//
//   - each verb is a row of All: to add a verb is to add a row;
//   - rules and words of a single verb are in its row, and in neither command nor page.
package verb
