package forgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documentURL is what the description is known by; nothing is fetched from there.
const documentURL = "https://forgetest.invalid/openapi.json"

// document is GitHub's description: OpenAPI 3.0, whose schemas are made JSON Schema of draft 7.
type document struct {
	root     map[string]any
	paths    map[string]any
	webhooks map[string]any
	// templates are the paths, with those first that say most.
	templates []template

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// template is a path of the description, such as /repos/{owner}/{repo}.
type template struct {
	path    string
	pattern *regexp.Regexp
	literal int
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
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("parse description: %w", err)
	}
	root, ok := adapt(parsed).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("parse description: it is %T", parsed)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	// The library knows the simplest templates only, and GitHub's "{/sha}" is of level 3.
	compiler.RegisterFormat(&jsonschema.Format{Name: "uri-template", Validate: func(any) error { return nil }})
	if err := compiler.AddResource(documentURL, root); err != nil {
		return nil, fmt.Errorf("add description: %w", err)
	}
	d := &document{root: root, compiler: compiler, compiled: map[string]*jsonschema.Schema{}}
	d.paths, _ = root["paths"].(map[string]any)
	d.webhooks, _ = root["x-webhooks"].(map[string]any)
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

// adapt turns what OpenAPI 3.0 says in its own way into JSON Schema, and takes back where GitHub
// says more than it keeps to.
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
		if node["nullable"] == true {
			return nullable(node)
		}
	}
	return node
}

func nullable(schema map[string]any) any {
	delete(schema, "nullable")
	kind, plain := schema["type"].(string)
	if !plain || schema["allOf"] != nil || schema["oneOf"] != nil || schema["anyOf"] != nil {
		return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, maps.Clone(schema)}}
	}
	schema["type"] = []any{kind, "null"}
	if values, ok := schema["enum"].([]any); ok && !slices.Contains(values, nil) {
		schema["enum"] = append(slices.Clone(values), nil)
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
	return template{path, regexp.MustCompile("^" + expression.String() + "$"), literal}
}

// operation finds what the description says of a request.
func (d *document) operation(method, path string) (pointer []string, operation map[string]any) {
	for _, t := range d.templates {
		if !t.pattern.MatchString(path) {
			continue
		}
		item, _ := d.paths[t.path].(map[string]any)
		if operation, ok := item[strings.ToLower(method)].(map[string]any); ok {
			return []string{"paths", t.path, strings.ToLower(method)}, operation
		}
	}
	return nil, nil
}

// schemaAt compiles the schema at a place of the description.
func (d *document) schemaAt(pointer ...string) (*jsonschema.Schema, error) {
	var at strings.Builder
	at.WriteString(documentURL + "#")
	for _, part := range pointer {
		at.WriteString("/" + escapePointer(part))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if schema := d.compiled[at.String()]; schema != nil {
		return schema, nil
	}
	schema, err := d.compiler.Compile(at.String())
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	d.compiled[at.String()] = schema
	return schema, nil
}

// escapePointer writes a name as part of a JSON pointer in a URL.
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}
