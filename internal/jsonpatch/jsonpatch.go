// Package jsonpatch builds JSON patches (RFC 6902), without a client that sends them.
package jsonpatch

import (
	"encoding/json"
	"fmt"
	"strings"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Patch is a JSON patch, applied as a whole or not at all. The zero value is an empty one.
type Patch struct {
	operations []operation
}

// Test makes the API server refuse the patch as invalid unless the path has the value; nil
// stands for none, where at least the parent of the path exists. Unlike a resourceVersion it
// allows changes of anything else.
func (p *Patch) Test(path string, value any) *Patch {
	p.operations = append(p.operations, operation{"test", path, value})
	return p
}

// Set writes a value, whether the path has one or not. Its parent must exist.
func (p *Patch) Set(path string, value any) *Patch {
	p.operations = append(p.operations, operation{"add", path, value})
	return p
}

// Remove takes away a value that must be there.
func (p *Patch) Remove(path string) *Patch {
	p.operations = append(p.operations, operation{Op: "remove", Path: path})
	return p
}

// Encode returns the operations as JSON.
func (p *Patch) Encode() ([]byte, error) {
	data, err := json.Marshal(p.operations)
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return data, nil
}

// AnnotationPath returns the JSON pointer (RFC 6901) to an annotation.
func AnnotationPath(key string) string { return "/metadata/annotations/" + escaped(key) }

// LabelPath returns the JSON pointer to a label.
func LabelPath(key string) string { return "/metadata/labels/" + escaped(key) }

func escaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }
