package spec

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// syntaxTree is a document as it was parsed for its positions.
type syntaxTree struct {
	done bool
	root *yaml.Node
}

// node parses the document for its positions, once. It returns nil if it can't be parsed.
func (d document) node() *yaml.Node {
	if d.tree != nil && d.tree.done {
		return d.tree.root
	}
	root := parseNode(d.text)
	if d.tree != nil {
		*d.tree = syntaxTree{true, root}
	}
	return root
}

func parseNode(text []byte) *yaml.Node {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil || len(root.Content) == 0 {
		return nil
	}
	return root.Content[0]
}

var pathParts = regexp.MustCompile(`[^.\[\]]+`)

// find returns the place of the field at a path such as spec.steps[1].replicas,
// or of the deepest part of the path that is there.
func (d document) find(path string) position {
	at := d.node()
	if at == nil {
		return lineStart(d.line)
	}
	found := position{at.Line, at.Column}
	for _, part := range pathParts.FindAllString(path, -1) {
		key, value := child(at, part)
		if key == nil {
			break
		}
		found, at = position{key.Line, key.Column}, value
	}
	found.line = d.fileLine(found.line)
	return found
}

// child returns the node that names a part, and its value.
func child(at *yaml.Node, part string) (key, value *yaml.Node) {
	for at.Kind == yaml.AliasNode {
		at = at.Alias
	}
	switch at.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(at.Content); i += 2 {
			if at.Content[i].Value == part {
				return at.Content[i], at.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(at.Content) {
			return at.Content[i], at.Content[i]
		}
	}
	return nil, nil
}

// checkAliases refuses documents that become too large when their aliases are
// written out, and those that hold themselves. The YAML library has a limit too, but
// it lets a few kilobytes become hundreds of megabytes.
func checkAliases(d document, limits Limits) *problem {
	if !bytes.ContainsRune(d.text, '&') || !bytes.ContainsRune(d.text, '*') {
		return nil
	}
	root := d.node()
	if root == nil {
		return nil // the parser will say why
	}
	w := &writeOut{limit: limits.Values, sizes: map[*yaml.Node]int{}}
	if w.size(root) <= limits.Values || !w.aliases {
		return nil
	}
	return &problem{lineStart(d.fileLine(w.line)), fmt.Sprintf("the aliases of the document make more than %d values, where a long text counts for several", limits.Values)}
}

// textBytes of a text count as one value: an alias may repeat a text as often as it likes.
const textBytes = 256

// writeOut counts the values of a document with its aliases written out.
type writeOut struct {
	limit int
	// sizes holds the sizes of finished nodes; one in progress has a size above the limit, so that a
	// node that contains itself is too large.
	sizes map[*yaml.Node]int
	// line of the first alias that made it too large.
	line int
	// aliases says that there are any.
	aliases bool
}

func (w *writeOut) size(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		w.aliases = true
		size := w.size(n.Alias)
		if size > w.limit && w.line == 0 {
			w.line = n.Line
		}
		return size
	}
	if size, seen := w.sizes[n]; seen {
		return size
	}
	w.sizes[n] = w.limit + 1
	size := 1 + len(n.Value)/textBytes
	for _, part := range n.Content {
		if size += w.size(part); size > w.limit {
			w.note(part)
			return w.limit + 1
		}
	}
	w.sizes[n] = size
	return size
}

func (w *writeOut) note(n *yaml.Node) {
	if w.line == 0 {
		w.line = n.Line
	}
}
