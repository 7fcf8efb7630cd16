package revert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// maxBytes is the largest file that is taken on; gitsync reads none that is larger.
const maxBytes = 1 << 20

// Release is whose template is looked for in a file.
type Release struct {
	Namespace, Name string
	// Kind and Workload are kind and name of its workload, of apps/v1.
	Kind, Workload string
	// Default is the namespace of objects that name none.
	Default string
}

// File is a manifest file with the template of a release in it.
type File struct {
	text []byte
	// document is the one with the template; it stands in text from there on.
	document *document
	start    int
	// holder is the mapping that has the key template.
	holder *yaml.Node
	value  map[string]any
}

// Read finds the template of a release in a file: in the BatchRelease, or else in its workload.
func Read(content []byte, of Release) (*File, error) {
	if err := checkText(content); err != nil {
		return nil, err
	}
	var found *File
	for _, part := range split(content) {
		doc := newDocument(content[part.from:part.to])
		kind, holder := doc.templateOf(of)
		switch {
		case holder == nil, found != nil && kind != releaseKind:
		default:
			found = &File{text: content, document: doc, start: part.from, holder: holder}
		}
		if kind == releaseKind && holder != nil {
			break
		}
	}
	if found == nil {
		return nil, fmt.Errorf("it has no template of BatchRelease %s or %s %s", of.Name, of.Kind, of.Workload)
	}
	if err := found.load(); err != nil {
		return nil, err
	}
	return found, nil
}

// checkText refuses what YAML and editors count lines of in different ways.
func checkText(content []byte) error {
	switch text := string(content); {
	case len(content) > maxBytes:
		return fmt.Errorf("it is larger than %d bytes", maxBytes)
	case !utf8.Valid(content):
		return errors.New("it is not UTF-8 text")
	case strings.ContainsAny(text, "\u0085\u2028\u2029"), strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r"):
		return errors.New("it has line breaks that editors don't show")
	}
	return nil
}

// load reads the document as gitsync does, once it is known to hold nothing that makes it grow.
func (f *File) load() error {
	if err := plain(f.document.root); err != nil {
		return fmt.Errorf("line %d: %w", f.line(err.at), err)
	}
	var err error
	f.value, err = f.document.decode()
	return err
}

// line returns that of a node in the file.
func (f *File) line(n *yaml.Node) int {
	return bytes.Count(f.text[:f.start], []byte("\n")) + n.Line
}

// Template returns the template as JSON, as it is given.
func (f *File) Template() []byte {
	data, err := json.Marshal(templateIn(f.value))
	if err != nil { // it was decoded from JSON
		return nil
	}
	return data
}

// templateIn returns spec.template of an object.
func templateIn(object map[string]any) any {
	spec, _ := object["spec"].(map[string]any)
	return spec["template"]
}

// span is a part of a text.
type span struct{ from, to int }

// split cuts a file into its documents at lines of three dashes. A mark of the byte order belongs
// to none.
func split(content []byte) []span {
	var parts []span
	start := len(content) - len(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")))
	for at := start; at < len(content); {
		end := len(content)
		if i := bytes.IndexByte(content[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		if line := strings.TrimRight(string(content[at:end]), " \t\r\n"); line == "---" || line == "..." ||
			strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "---\t") {
			parts = append(parts, span{start, at})
			start = at
			if line == "..." {
				start = end
			}
		}
		at = end
	}
	return append(parts, span{start, len(content)})
}

const releaseKind = "BatchRelease"

// templateOf returns the mapping with the template of a release, and what kind of object has it;
// nil if the document has none.
func (d *document) templateOf(of Release) (kind string, holder *yaml.Node) {
	metadata := valueOf(d.root, "metadata")
	kind, name := textOf(d.root, "kind"), textOf(metadata, "name")
	namespace := textOf(metadata, "namespace")
	if namespace == "" {
		namespace = of.Default
	}
	version := textOf(d.root, "apiVersion")
	release := kind == releaseKind && version == v1alpha1.GroupVersion.String() && name == of.Name
	workload := kind == of.Kind && version == "apps/v1" && name == of.Workload
	spec := valueOf(d.root, "spec")
	if namespace != of.Namespace || !release && !workload || valueOf(spec, "template") == nil {
		return "", nil
	}
	return kind, spec
}

// document is one YAML document.
type document struct {
	text []byte
	// lines are the offsets at which lines begin.
	lines []int
	// root is nil where the text can't be parsed, or holds nothing.
	root *yaml.Node
}

func newDocument(text []byte) *document {
	d := &document{text: text, lines: []int{0}}
	for i, b := range text {
		if b == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	var root yaml.Node
	if yaml.Unmarshal(text, &root) == nil && len(root.Content) == 1 {
		d.root = root.Content[0]
	}
	return d
}

// decode reads the document as kubectl does.
func (d *document) decode() (map[string]any, error) {
	data, err := kyaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return nil, fmt.Errorf("it can't be read: %w", err)
	}
	var value map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("it is no object: %w", err)
	}
	return value, nil
}

// valueOf returns what a mapping has under a key; nil if it is no mapping, or has no such key.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	if e := entryOf(mapping, key); e != nil {
		return e.value
	}
	return nil
}

func textOf(mapping *yaml.Node, key string) string {
	if value := valueOf(mapping, key); value != nil && value.Kind == yaml.ScalarNode {
		return value.Value
	}
	return ""
}

// entry is a key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

func entriesOf(mapping *yaml.Node) []entry {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	all := make([]entry, 0, len(mapping.Content)/2)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		all = append(all, entry{mapping.Content[i], mapping.Content[i+1]})
	}
	return all
}

func entryOf(mapping *yaml.Node, key string) *entry {
	for _, e := range entriesOf(mapping) {
		if e.key.Kind == yaml.ScalarNode && e.key.Value == key {
			return &e
		}
	}
	return nil
}

// oddity is a node that is not taken on, and why.
type oddity struct {
	at     *yaml.Node
	reason string
}

func (o *oddity) Error() string { return o.reason }

// plain refuses a document with more than keys and values: an alias repeats a value from elsewhere.
func plain(n *yaml.Node) *oddity {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return &oddity{n, "it uses anchors and aliases"}
	case n.Style&yaml.TaggedStyle != 0:
		return &oddity{n, "it uses tags"}
	}
	for _, part := range n.Content {
		if odd := plain(part); odd != nil {
			return odd
		}
	}
	return nil
}
