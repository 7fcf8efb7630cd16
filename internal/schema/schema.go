// Package schema turns the CRDs into JSON schemas, for editors.
//
//	CRD ─► convert ─► closed objects, rules of a schema ─► KIND_VERSION.json ─┐
//	                                                                          ├─► sluice.json
//	CRD ─► ...                                             KIND_VERSION.json ─┘
//
// A schema refuses nothing that the API server accepts, except null in place of a default, which
// sluice lint refuses as well; fields that the controller writes are left open. Rules that a schema
// can't express, the last step above all, are left to the API server and to lint. It uses draft 7,
// the newest that all editors know.
package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Base is the address below which the schemas are published.
const Base = "https://raw.githubusercontent.com/sluice-dev/sluice/main/schemas/"

// Any is the file of the schema for manifests of any kind: those of other groups pass.
const Any = "sluice.json"

const draft = "http://json-schema.org/draft-07/schema#"

// Files makes the schema of each version of each CRD, and Any, by the names of their files.
func Files(crds ...[]byte) (map[string][]byte, error) {
	files := map[string][]byte{}
	var cases []any
	for _, crd := range crds {
		kinds, err := kindsOf(crd)
		if err != nil {
			return nil, err
		}
		for _, k := range kinds {
			content, err := k.schema()
			if err != nil {
				return nil, fmt.Errorf("convert the CRD of %s %s: %w", k.kind, k.version, err)
			}
			files[k.file()] = encode(content)
			cases = append(cases, k.where())
		}
	}
	files[Any] = encode(map[string]any{"$schema": draft, "$id": Base + Any, "allOf": cases})
	return files, nil
}

// kind is one version of a CRD.
type kind struct {
	group, version, kind string
	openAPI              map[string]any
}

func kindsOf(data []byte) ([]kind, error) {
	crd := map[string]any{}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		return nil, fmt.Errorf("parse a CRD: %w", err)
	}
	group, _, _ := unstructured.NestedString(crd, "spec", "group")
	name, _, _ := unstructured.NestedString(crd, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	var kinds []kind
	for _, version := range versions {
		of, _ := version.(map[string]any)
		openAPI, found, err := unstructured.NestedMap(of, "schema", "openAPIV3Schema")
		if err != nil || !found {
			return nil, fmt.Errorf("read the schema of %s %v: there is none, or no object", name, of["name"])
		}
		kinds = append(kinds, kind{group, fmt.Sprint(of["name"]), name, openAPI})
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("read a CRD: %q has no versions", name)
	}
	return kinds, nil
}

// file returns the name that tools which look schemas up by kind ask for.
func (k kind) file() string { return strings.ToLower(k.kind) + "_" + k.version + ".json" }

func (k kind) schema() (map[string]any, error) {
	content, err := convert(k.openAPI)
	if err != nil {
		return nil, err
	}
	content["$schema"], content["$id"] = draft, Base+k.file()
	content["required"] = append([]any{"apiVersion", "kind", "metadata"}, asList(content["required"])...)
	fields := asObject(content["properties"])
	fields["apiVersion"] = map[string]any{"const": k.group + "/" + k.version}
	fields["kind"] = map[string]any{"const": k.kind}
	fields["metadata"] = metadata()
	if k.kind == "BatchRelease" { // a member of a train has the steps of that, and may have no strategy
		spec := asObject(fields["spec"])
		delete(spec, "required")
		delete(asObject(asObject(spec["properties"])["strategy"]), "required")
	}
	if status := asObject(fields["status"]); status != nil {
		openUp(status)
	}
	return content, nil
}

// openUp leaves of a schema that its values are objects, and what they are for.
func openUp(schema map[string]any) {
	maps.DeleteFunc(schema, func(keyword string, _ any) bool { return keyword != "type" && keyword != "description" })
}

// where applies the schema to manifests of its kind, in whichever version they say they are.
func (k kind) where() map[string]any {
	return map[string]any{
		"if": map[string]any{
			"required": []any{"apiVersion", "kind"},
			"properties": map[string]any{
				"apiVersion": map[string]any{"type": "string", "pattern": "^" + strings.ReplaceAll(k.group, ".", `\.`) + "/"},
				"kind":       map[string]any{"const": k.kind},
			},
		},
		"then": map[string]any{"$ref": k.file()},
	}
}

// encode writes for people: they read what an editor refers to.
func encode(content map[string]any) []byte {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(content); err != nil {
		panic(err) // it was decoded from YAML
	}
	return []byte(text.String())
}
