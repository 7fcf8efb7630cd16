package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// same are the keywords that mean in a JSON schema what they mean in a CRD.
var same = []string{
	"type", "description", "default", "enum", "pattern", "required", "anyOf",
	"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
}

// silent are those that say nothing about a manifest beyond what others say, or nothing at all.
var silent = []string{
	"x-kubernetes-int-or-string", // comes with anyOf
	"x-kubernetes-list-map-keys",
	"x-kubernetes-list-type", // "set" is read with the items
	"x-kubernetes-map-type",  // says who owns what of it
	"x-kubernetes-preserve-unknown-fields",
	"x-kubernetes-validations", // see rules
}

// convert makes a JSON schema of that of a CRD. A keyword that it does not know is an error:
// leaving it out could have the schema refuse what is right.
func convert(from map[string]any) (map[string]any, error) {
	to := map[string]any{}
	for _, keyword := range slices.Sorted(maps.Keys(from)) {
		if err := convertKeyword(keyword, from[keyword], to); err != nil {
			return nil, fmt.Errorf("%s: %w", keyword, err)
		}
	}
	if from["type"] == "object" && from["additionalProperties"] == nil && from["x-kubernetes-preserve-unknown-fields"] == nil {
		to["additionalProperties"] = false
	}
	if from["x-kubernetes-list-type"] == "set" {
		to["uniqueItems"] = true
	}
	if err := addRules(asList(from["x-kubernetes-validations"]), to); err != nil {
		return nil, err
	}
	return to, nil
}

func convertKeyword(keyword string, value any, to map[string]any) (err error) {
	switch {
	case slices.Contains(same, keyword):
		to[keyword] = value
	case keyword == "format":
		convertFormat(value, to)
	case keyword == "properties":
		to[keyword], err = convertFields(asObject(value))
	case keyword == "items" || keyword == "additionalProperties":
		to[keyword], err = convert(asObject(value))
	case !slices.Contains(silent, keyword):
		err = fmt.Errorf("is no keyword that is known here")
	}
	return err
}

// convertFormat leaves out formats that only Kubernetes knows: strict readers of schemas refuse
// those.
func convertFormat(format any, to map[string]any) {
	if format == "date-time" {
		to["format"] = format
	}
}

func convertFields(from map[string]any) (map[string]any, error) {
	to := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		field, err := convert(asObject(from[name]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		to[name] = field
	}
	return to, nil
}

// metadata returns what a CRD leaves to the API server. Of fields that only a server sets no more
// is said than their names.
func metadata() map[string]any {
	fields := map[string]any{}
	for field := range reflect.TypeFor[metav1.ObjectMeta]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = metadataField(field.Type)
	}
	return map[string]any{
		"type":                 "object",
		"properties":           fields,
		"additionalProperties": false,
		"anyOf":                []any{map[string]any{"required": []any{"name"}}, map[string]any{"required": []any{"generateName"}}},
	}
}

func metadataField(t reflect.Type) map[string]any {
	text := map[string]any{"type": "string"}
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Map:
		return map[string]any{"type": []any{"object", "null"}, "additionalProperties": text}
	default:
		return map[string]any{}
	}
}

func asObject(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}
