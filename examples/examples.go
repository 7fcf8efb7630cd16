// Package examples holds manifests to learn from and to copy, and the sample
// repository that the demo releases from.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed repo
var files embed.FS

// Repo is the sample release repository: one Deployment and its BatchRelease.
func Repo() (fs.FS, error) { return fs.Sub(files, "repo") }
