// Package spec turns the files of a commit into the releases that they ask for, or
// into errors that name file and line.
//
//	folder ─► files ─► documents ─► BatchReleases ─┐
//	            │                   Deployments ───┴► join ─► releases
//	            └► kustomization ─► kustomize build ─┘            │
//	                                    what is wrong ◄───────────┘
//
// It reads what it is given and nothing else: no network, no disk, no plugins. A file
// that is wrong never hides the others. Files that have not changed since the last Read
// are not parsed again.
package spec
