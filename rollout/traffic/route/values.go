package route

import (
	"encoding/json"
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object is an object of JSON.
type object = map[string]any

// clone returns a copy that shares nothing with the value. Unlike that of unstructured, it takes
// numbers of any type.
func clone(value any) any {
	switch v := value.(type) {
	case object:
		if v == nil {
			return v
		}
		copied := make(object, len(v))
		for key, field := range v {
			copied[key] = clone(field)
		}
		return copied
	case []any:
		if v == nil {
			return v
		}
		copied := make([]any, len(v))
		for i := range v {
			copied[i] = clone(v[i])
		}
		return copied
	default:
		return value
	}
}

func cloned(obj *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: clone(obj.Object).(object)}
}

// same reports whether two values are the same as JSON.
func same(a, b any) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	other, err := json.Marshal(b)
	return err == nil && string(one) == string(other)
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// textOr returns a string that has a default.
func textOr(value any, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return text(value)
}

// integer returns a number of JSON, however it was decoded.
func integer(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case int32:
		return int64(n), true
	case int:
		return int64(n), true
	case float64:
		// Beyond this not every integer is a float64.
		const exact = 1 << 53
		if n != math.Trunc(n) || math.Abs(n) > exact {
			return 0, false
		}
		return int64(n), true
	default:
		return 0, false
	}
}

// listIn returns a list of objects, none where there is none, or what is wrong at its place.
func listIn(in object, field, place string) ([]object, *problem) {
	switch list := in[field].(type) {
	case nil:
		return nil, nil
	case []any:
		objects := make([]object, len(list))
		for i := range list {
			item, ok := list[i].(object)
			if !ok {
				return nil, notShareable("%s.%s[%d] must be an object, is %s", place, field, i, quoted(list[i]))
			}
			objects[i] = item
		}
		return objects, nil
	default:
		return nil, notShareable("%s.%s must be a list, is %s", place, field, quoted(list))
	}
}

// objectIn returns an object, nil where there is none, or what is wrong at its place.
func objectIn(in object, field, place string) (object, *problem) {
	switch value := in[field].(type) {
	case nil:
		return nil, nil
	case object:
		return value, nil
	default:
		return nil, notShareable("%s must be an object, is %s", join(place, field), quoted(value))
	}
}

func join(place, field string) string {
	if place == "" {
		return field
	}
	return fmt.Sprintf("%s.%s", place, field)
}

func listOf(objects []object) []any {
	list := make([]any, len(objects))
	for i := range objects {
		list[i] = objects[i]
	}
	return list
}

func metadataOf(obj *unstructured.Unstructured) object {
	metadata, _ := obj.Object["metadata"].(object)
	return metadata
}
