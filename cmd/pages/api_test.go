package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestFieldsAreThoseOfTheCRDs: the page has the fields of each type that the CRDs have, with what
// is required, the values and the defaults.
func TestFieldsAreThoseOfTheCRDs(t *testing.T) {
	t.Chdir("../..")
	api, err := apiOf("api/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	compared := map[string]bool{}
	for _, kind := range apiKinds {
		var crd apiextensions.CustomResourceDefinition
		if err := yaml.Unmarshal([]byte(read(t, "config/crd/rollouts.sluice.dev_"+strings.ToLower(kind)+"s.yaml")), &crd); err != nil {
			t.Fatal(err)
		}
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, field := range api[kind].fields {
			if of := api[field.of]; of != nil {
				compare(t, &apiWriter{api: api, written: compared}, of, schema.Properties[field.name])
			}
		}
	}
	if len(compared) < 40 {
		t.Errorf("want the types of the CRDs compared, got %d", len(compared))
	}
}

func compare(t *testing.T, w *apiWriter, of *apiType, schema apiextensions.JSONSchemaProps) {
	t.Helper()
	if w.written[of.name] || len(of.fields) == 0 {
		return
	}
	w.written[of.name] = true
	fields := map[string]apiField{}
	for _, field := range w.flat(of) {
		fields[field.name] = field
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(schema.Properties)), slices.Sorted(maps.Keys(fields))); diff != "" {
		t.Errorf("fields of %s (-CRD +page):\n%s", of.name, diff)
	}
	for name, field := range fields {
		at := schema.Properties[name]
		if required := slices.Contains(schema.Required, name); required == field.optional {
			t.Errorf("%s.%s: required is %t in the CRD", of.name, name, required)
		}
		if preset := strings.Trim(field.markers["default"], `"`); at.Default != nil && !strings.HasPrefix(preset, "{") && preset != strings.Trim(string(at.Default.Raw), `"`) {
			t.Errorf("%s.%s: the default is %q, in the CRD %s", of.name, name, preset, at.Default.Raw)
		}
		if at.Items != nil {
			at = *at.Items.Schema
		}
		for _, value := range at.Enum {
			if text := strings.Trim(string(value.Raw), `"`); !slices.Contains(strings.Split(strings.ReplaceAll(w.enumOf(field), `"`, ""), ";"), text) {
				t.Errorf("%s.%s: the page lacks the value %s", of.name, name, text)
			}
		}
		if next := w.api[field.of]; next != nil && field.from == "" {
			compare(t, w, next, at)
		}
	}
}

func TestSentencesOfFields(t *testing.T) {
	t.Parallel()
	w := &apiWriter{api: map[string]*apiType{"Way": {name: "Way", markers: markers{"Enum": "On;Back"}, values: []apiValue{{"On", ""}, {"Back", ""}}}}}
	for name, tt := range map[string]struct {
		field apiField
		given bool
		want  string
	}{
		"Noun":     {apiField{golang: "Steps", doc: "Steps are the batches. Two. Three.", optional: true}, true, "The batches. Two."},
		"Verb":     {apiField{golang: "Suspend", doc: "Suspend stops the release. Default false.", optional: true}, true, "Stops the release. Default false."},
		"NoVerb":   {apiField{golang: "Steps", doc: "Steps of a.b go first.", optional: true}, true, "Steps of a.b go first."},
		"True":     {apiField{golang: "Gone", doc: "Gone means that it is gone.", optional: true}, true, "True if it is gone."},
		"Status":   {apiField{golang: "Gone", doc: "Gone is one. And more.", markers: markers{"Minimum": "1"}}, false, "One."},
		"Required": {apiField{golang: "N", doc: "N is one.", markers: markers{"Minimum": "1", "Maximum": "9"}}, true, "One. Required. 1 to 9."},
		"Enum": {
			apiField{golang: "To", of: "Way", doc: "To is a way. On goes. Back returns. Default On.", optional: true, markers: markers{"default": "On"}}, true,
			"A way. On goes. Back returns. `On` (default) or `Back`.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := w.describe(tt.field, tt.given); got != tt.want {
				t.Errorf("want %q, got %q", tt.want, got)
			}
		})
	}
}
