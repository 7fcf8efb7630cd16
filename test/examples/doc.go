// Package examples holds the examples, the manifests of the docs and the published schemas against
// each other, the reader of manifests and a real API server.
package examples
