package schema_test

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/internal/schema"
)

const crd = `
spec:
  group: example.dev
  names: {kind: Boat}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          spec:
            type: object
            properties:
              sails: {type: integer, format: int32}
              built: {type: string, format: date-time}
              flags: {type: object, additionalProperties: {type: string}}
              crew: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              cargo: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            required: [afloat]
`

// TestFiles shows what becomes of the parts of a CRD that mean something else in a schema, or
// nothing.
func TestFiles(t *testing.T) {
	t.Parallel()
	files, err := schema.Files([]byte(crd))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(files["boat_v1.json"])), "")
	for name, want := range map[string]string{
		"a format of Kubernetes' own goes": `"sails":{"type":"integer"}`,
		"any other format stays":           `"built":{"format":"date-time","type":"string"}`,
		"a map":                            `"flags":{"additionalProperties":{"type":"string"},"type":"object"}`,
		"a set":                            `"crew":{"items":{"type":"string"},"type":"array","uniqueItems":true}`,
		"what is kept is open":             `"cargo":{"type":"object"}`,
		"objects are closed":               `"spec":{"additionalProperties":false,`,
		"the status is the controller's":   `"status":{"type":"object"}`,
		"the kind":                         `"apiVersion":{"const":"example.dev/v1"},"kind":{"const":"Boat"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: want %s in %s", name, want, text)
		}
	}
	if anyKind := string(files[schema.Any]); !strings.Contains(anyKind, `"$ref": "boat_v1.json"`) {
		t.Errorf("%s does not refer to the schema of the kind:\n%s", schema.Any, anyKind)
	}
}

// TestFilesRefuses: a schema that can't be written in full is not written in part.
func TestFilesRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ old, with, want string }{
		"a keyword that is new":  {"format: int32", "multipleOf: 2", "convert the CRD of Boat v1: properties: spec: properties: sails: multipleOf: is no keyword"},
		"a rule of another form": {"format: int32", "x-kubernetes-validations: [{rule: self > 2}]", `rule "self > 2": has no form`},
		"a keyword that we mean": {"items: {type", "items: {nullable", "crew: items: nullable: is no keyword"},
		"no schema":              {"openAPIV3Schema", "openAPIV2Schema", "read the schema of Boat v1"},
		"no versions":            {"versions", "version", `"Boat" has no versions`},
		"no YAML":                {"spec:", "spec: [", "parse a CRD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := schema.Files([]byte(strings.Replace(crd, tt.old, tt.with, 1)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
