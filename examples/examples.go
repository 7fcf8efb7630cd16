// Package examples holds manifests to learn from and to copy, and the sample
// repositories that the demo releases from.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed repo kinds
var files embed.FS

// Repo returns the sample release repository: one Deployment and its BatchRelease.
func Repo() (fs.FS, error) { return fs.Sub(files, "repo") }

// Kinds returns a release repository with a train of a workload of each kind: a Deployment, a
// StatefulSet and a DaemonSet.
func Kinds() (fs.FS, error) { return fs.Sub(files, "kinds") }
