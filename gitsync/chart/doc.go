// Package chart renders a Helm chart from the files of a repository, and from nothing else.
//
//	files ─► chart, vendored charts ─┐
//	files ─► values, schema ─────────┴► templates ─► texts, or problems with file and line
//
// It calls the parts of Helm that load charts and execute templates, and none of those that fetch,
// install or run something. A chart whose dependencies are not vendored is refused, and so is a
// template that asks a cluster or DNS. Functions that return something else at each call go through
// Calls, with which a caller finds what depends on them.
//
// A chart is a program of strangers: a caller renders it in package sandbox, which bounds what it
// takes.
package chart
