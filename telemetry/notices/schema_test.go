package notices

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/telemetry/story"
)

// object holds the used parts of an object in a JSON schema.
type object struct {
	Required   []string `json:"required"`
	Properties map[string]struct {
		object

		Description string       `json:"description"`
		Enum        []story.Kind `json:"enum"`
	} `json:"properties"`
}

// TestSchemaNamesEachField: the published schema has every field of a notice, which of them are
// always there, and every kind.
func TestSchemaNamesEachField(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../schemas/notice_v1.json")
	if err != nil {
		t.Fatalf("read schema: %v", err)
	}
	var schema object
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatalf("decode schema: %v", err)
	}
	compareFields(t, reflect.TypeFor[Notice](), schema)
	compareFields(t, reflect.TypeFor[Gate](), schema.Properties["gate"].object)
	if diff := cmp.Diff(Kinds(), schema.Properties["kind"].Enum); diff != "" {
		t.Errorf("kinds: -want +got:\n%s", diff)
	}
}

func compareFields(t *testing.T, of reflect.Type, schema object) {
	t.Helper()
	var always []string
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if schema.Properties[name].Description == "" {
			t.Errorf("%s: want %s described", of, name)
		}
		if options == "" {
			always = append(always, name)
		}
	}
	slices.Sort(always)
	slices.Sort(schema.Required)
	if diff := cmp.Diff(always, schema.Required); diff != "" || len(schema.Properties) != of.NumField() {
		t.Errorf("%s: want the fields that are always there required, and no others described: -want +got:\n%s", of, diff)
	}
}
