package forgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// document is GitHub's description: OpenAPI 3.0.
type document struct {
	root     map[string]any
	paths    map[string]any
	webhooks map[string]any
	// templates are the paths, with those first that say most.
	templates []template

	mu      sync.Mutex
	schemas map[string]*spec.Schema // by where they are in the description
}

// template is a path of the description, such as /repos/{owner}/{repo}.
type template struct {
	path    string
	pattern *regexp.Regexp
	literal int
	// parts tell most paths apart without the pattern.
	parts []string
}

// begins compares the literal parts of the template with a path's, up to a parameter that may have
// slashes in it.
func (t template) begins(parts []string) bool {
	for i, part := range t.parts {
		if name, isParameter := strings.CutPrefix(part, "{"); isParameter {
			if name = strings.TrimSuffix(name, "}"); name == "path" || slices.Contains(manySegments, name) {
				return true
			}
			continue
		}
		if i >= len(parts) || !strings.Contains(part, "{") && part != parts[i] {
			return false
		}
	}
	return true
}

// schemasOnly leaves out of a description what no answer is held to: words, examples and what
// requests look like. Less than a quarter of it is left.
func schemasOnly(data []byte) ([]byte, error) {
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("parse description: %w", err)
	}
	return json.Marshal(withoutWords(root))
}

func withoutWords(node any) any {
	switch node := node.(type) {
	case []any:
		for i := range node {
			node[i] = withoutWords(node[i])
		}
	case map[string]any:
		for key, value := range node {
			if isWords(key, value) {
				delete(node, key)
				continue
			}
			node[key] = withoutWords(value)
		}
	}
	return node
}

// isWords looks at values too: a member of a schema may be called like a keyword, and is an object.
func isWords(key string, value any) bool {
	switch key {
	case "example", "examples", "externalDocs", "x-github":
		return true
	case "description", "summary", "operationId":
		_, text := value.(string)
		return text
	case "parameters", "tags":
		_, list := value.([]any)
		return list
	}
	return false
}

func parseDocument(data []byte) (*document, error) {
	d := &document{schemas: map[string]*spec.Schema{}}
	if err := json.Unmarshal(data, &d.root); err != nil {
		return nil, fmt.Errorf("parse description: %w", err)
	}
	adapt(d.root)
	if err := d.resolve(d.root); err != nil {
		return nil, err
	}
	d.paths, _ = d.root["paths"].(map[string]any)
	d.webhooks, _ = d.root["x-webhooks"].(map[string]any)
	for path := range d.paths {
		d.templates = append(d.templates, newTemplate(path))
	}
	slices.SortFunc(d.templates, func(a, b template) int {
		if a.literal != b.literal {
			return b.literal - a.literal
		}
		return strings.Compare(a.path, b.path)
	})
	return d, nil
}

// schemaPrefix is where the description has the schemas that others refer to.
const schemaPrefix = "#/components/schemas/"

// resolve puts schemas where they are referred to, since validation follows no references. None
// of GitHub's refers to itself, even by way of others: writing such a one out would not end.
func (d *document) resolve(node any) error {
	switch node := node.(type) {
	case []any:
		for i, value := range node {
			resolved, err := d.resolved(value)
			if err != nil {
				return err
			}
			node[i] = resolved
		}
	case map[string]any:
		for key, value := range node {
			resolved, err := d.resolved(value)
			if err != nil {
				return err
			}
			node[key] = resolved
		}
	}
	return nil
}

// resolved returns what a node refers to, or else the node itself, resolved.
func (d *document) resolved(node any) (any, error) {
	reference, _ := node.(map[string]any)
	target, _ := reference["$ref"].(string)
	name, toSchema := strings.CutPrefix(target, schemaPrefix)
	if !toSchema {
		return node, d.resolve(node)
	}
	schema := d.component([]string{"components", "schemas", name})
	if schema == nil {
		return nil, fmt.Errorf("parse description: there is no %s", target)
	}
	return schema, nil
}

// adapt takes back where GitHub says more than it keeps to, and says in other words what
// validation would overlook as it is.
func adapt(node any) any {
	switch node := node.(type) {
	case []any:
		for i := range node {
			node[i] = adapt(node[i])
		}
	case map[string]any:
		for key := range node {
			node[key] = adapt(node[key])
		}
		// GitHub's alternatives overlap: an error is both a plain one and one of a rule.
		if alternatives := node["oneOf"]; alternatives != nil && node["anyOf"] == nil {
			node["anyOf"] = alternatives
			delete(node, "oneOf")
		}
		if node["format"] == "uri" && node["default"] == "" {
			delete(node, "format") // GitHub's own default would not be one
		}
		delete(node, "discriminator") // it only says which alternative to ask first
		return strict(node)
	}
	return node
}

// strict says what a schema means in the words that the library takes at their full worth: of null
// it asks the type alone, and never finds it in an enum; of what has a format it does not ask the
// type.
func strict(schema map[string]any) map[string]any {
	kind, _ := schema["type"].(string)
	_, formatted := schema["format"].(string)
	switch {
	case schema["nullable"] == true:
		value := maps.Clone(schema)
		delete(value, "nullable")
		return map[string]any{"anyOf": []any{strict(value)}} // without a type null is taken
	case kind == "" && (schema["anyOf"] != nil || schema["allOf"] != nil):
		schema["type"] = []any{"array", "boolean", "number", "object", "string"}
	case kind == "string" && formatted:
		return map[string]any{"type": kind, "allOf": []any{schema}}
	}
	return schema
}

// manySegments are the parameters that may have slashes in them.
var (
	parameter    = regexp.MustCompile(`\{([a-z_]+)\}`)
	manySegments = []string{"ref", "branch", "basehead", "tree_sha", "commit_sha"}
)

func newTemplate(path string) template {
	var expression strings.Builder
	rest, literal := path, 0
	for rest != "" {
		at := parameter.FindStringSubmatchIndex(rest)
		if at == nil {
			expression.WriteString(regexp.QuoteMeta(rest))
			literal += strings.Count(rest, "/")
			break
		}
		expression.WriteString(regexp.QuoteMeta(rest[:at[0]]))
		literal += strings.Count(rest[:at[0]], "/")
		switch name := rest[at[2]:at[3]]; {
		case name == "path":
			expression.WriteString(".*") // none is the root folder
		case slices.Contains(manySegments, name):
			expression.WriteString(".+")
		default:
			expression.WriteString("[^/]+")
		}
		rest = rest[at[1]:]
	}
	return template{path, regexp.MustCompile("^" + expression.String() + "$"), literal, strings.Split(path, "/")}
}

// operation finds what the description says of a request.
func (d *document) operation(method, path string) (pointer []string, operation map[string]any) {
	parts := strings.Split(path, "/")
	for _, t := range d.templates {
		if !t.begins(parts) || !t.pattern.MatchString(path) {
			continue
		}
		item, _ := d.paths[t.path].(map[string]any)
		if operation, ok := item[strings.ToLower(method)].(map[string]any); ok {
			return []string{"paths", t.path, strings.ToLower(method)}, operation
		}
	}
	return nil, nil
}

// schemaAt returns the schema at a place of the description.
func (d *document) schemaAt(pointer ...string) (*spec.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	place := strings.Join(pointer, " ")
	if schema := d.schemas[place]; schema != nil {
		return schema, nil
	}
	data, err := json.Marshal(d.component(pointer))
	if err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	schema := &spec.Schema{}
	if err := json.Unmarshal(data, schema); err != nil {
		return nil, fmt.Errorf("decode schema: %w", err)
	}
	d.schemas[place] = schema
	return schema, nil
}
