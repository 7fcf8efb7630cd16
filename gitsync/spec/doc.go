// Package spec turns a file tree into objects, or errors with file and line; pure.
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
