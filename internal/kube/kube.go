// Package kube has guarded writes, the overlay over caches, events, and the rules for Secrets.
package kube

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Newer reports whether a is a later reading than b of the same object. Readings whose
// versions can't be compared count as not newer, so that the cache wins.
func Newer(a, b client.Object) bool {
	if a.GetUID() != b.GetUID() {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// JSONPatch is a JSON patch, applied as a whole or not at all. The zero value is an empty one.
type JSONPatch struct {
	operations []operation
}

// Test makes the API server refuse the patch as invalid unless the path has the value; nil
// stands for none, where at least the parent of the path exists. Unlike a resourceVersion it
// allows changes of anything else.
func (p *JSONPatch) Test(path string, value any) *JSONPatch {
	p.operations = append(p.operations, operation{"test", path, value})
	return p
}

// Set writes a value, whether the path has one or not. Its parent must exist.
func (p *JSONPatch) Set(path string, value any) *JSONPatch {
	p.operations = append(p.operations, operation{"add", path, value})
	return p
}

// Remove takes away a value that must be there.
func (p *JSONPatch) Remove(path string) *JSONPatch {
	p.operations = append(p.operations, operation{Op: "remove", Path: path})
	return p
}

// Patch encodes the operations.
func (p *JSONPatch) Patch() (client.Patch, error) {
	data, err := json.Marshal(p.operations)
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return client.RawPatch(types.JSONPatchType, data), nil
}

// AnnotationPath returns the JSON pointer (RFC 6901) to an annotation.
func AnnotationPath(key string) string {
	return "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
