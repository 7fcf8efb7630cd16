// Package lookup reads a release with all objects that belong to it, once or after each change.
//
//	cluster ──► Whole ──► show.Whole, an object of each thing
//	cluster ──► Follow ──► a call for each change, with a cache that is as new as the change
//
// It needs no rights but to get, list and watch, in the namespace of the release. It only reads.
package lookup
