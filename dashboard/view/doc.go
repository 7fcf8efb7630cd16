// Package view turns releases, sources and histories into what the pages of the dashboard show, as
// values; pure.
//
//	BatchReleases ──► Rows ──► Select ──► Releases   the list
//	show.Whole, history ──────────────► Release      one release
//	ReleaseSources ───────────────────► Sources
//	histories ────────────────────────► History
//
// What must hold:
//
//   - texts are as Git, the forge and people wrote them, on one line and bounded; templates escape
//     them;
//   - a link is http or https; any other address is text;
//   - no decision depends on a sentence.
package view
