package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checker compares decoded JSON with a Go type, and unlike a decoder reports all
// that does not fit, each with its path.
type checker struct {
	// lenient permits unknown fields.
	lenient  bool
	problems []pathProblem
}

// pathProblem is a problem with a field.
type pathProblem struct {
	path    string
	message string
}

func (c *checker) fail(at *field.Path, format string, args ...any) {
	c.problems = append(c.problems, pathProblem{at.String(), at.String() + ": " + fmt.Sprintf(format, args...)})
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// check compares a value with a type. Null stands for a field that is left out in
// lenient checks, and is an error in others.
func (c *checker) check(value any, t reflect.Type, at *field.Path) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case value == nil:
		c.checkNull(t, at)
	case reflect.PointerTo(t).Implements(unmarshaler):
		c.checkLeaf(value, t, at)
	case t.Kind() == reflect.Struct:
		c.checkStruct(value, t, at)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		c.checkSlice(value, t, at)
	case t.Kind() == reflect.Map:
		c.checkMap(value, t, at)
	default:
		c.checkLeaf(value, t, at)
	}
}

func (c *checker) checkNull(t reflect.Type, at *field.Path) {
	switch {
	case c.lenient:
	case t.Kind() == reflect.Struct && t.NumField() == 0:
		c.fail(at, "must not be null: write {}")
	default:
		c.fail(at, "must not be null")
	}
}

func (c *checker) checkStruct(value any, t reflect.Type, at *field.Path) {
	object, ok := value.(map[string]any)
	if !ok {
		c.fail(at, "must be an object, not %s", describe(value))
		return
	}
	fields := fieldsOf(t)
	for _, key := range sortedKeys(object) {
		inside := childOf(at, key)
		fieldType, known := fields[key]
		switch {
		case known:
			c.check(object[key], fieldType, inside)
		case !c.lenient:
			c.fail(inside, "unknown field%s", suggestion(key, fields))
		}
	}
}

func (c *checker) checkSlice(value any, t reflect.Type, at *field.Path) {
	list, ok := value.([]any)
	if !ok {
		c.fail(at, "must be a list, not %s", describe(value))
		return
	}
	for i, item := range list {
		c.check(item, t.Elem(), at.Index(i))
	}
}

func (c *checker) checkMap(value any, t reflect.Type, at *field.Path) {
	object, ok := value.(map[string]any)
	if !ok {
		c.fail(at, "must be an object, not %s", describe(value))
		return
	}
	for _, key := range sortedKeys(object) {
		c.check(object[key], t.Elem(), at.Key(key))
	}
}

// checkLeaf decodes a value to see whether it fits.
func (c *checker) checkLeaf(value any, t reflect.Type, at *field.Path) {
	data, err := json.Marshal(value)
	if err != nil {
		c.fail(at, "%v", err)
		return
	}
	err = json.Unmarshal(data, reflect.New(t).Interface())
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		c.fail(at, "must be %s, not %s%s", describeLeaf(t, wrong.Type), describe(value), remedy(t, value, at))
	case err != nil:
		c.fail(at, "%v", err)
	}
}

// fieldsOf returns the types of a struct's fields by their JSON names, those of
// embedded structs without a name included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(fields, fieldsOf(f.Type))
		case f.IsExported() && name != "" && name != "-":
			fields[name] = f.Type
		}
	}
	return fields
}

// suggestion names the field that was probably meant.
func suggestion(key string, fields map[string]reflect.Type) string {
	best, least := "", min(2, len(key)/3)+1
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if strings.EqualFold(name, key) {
			best = name
			break
		}
		if d := distance(name, key); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance returns the Levenshtein distance of two names.
func distance(a, b string) int {
	if len(a)+len(b) > 200 {
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func childOf(at *field.Path, key string) *field.Path {
	if at == nil {
		return field.NewPath(key)
	}
	return at.Child(key)
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// describe names a value's kind for people.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case json.Number:
		return fmt.Sprintf("the number %s", v)
	case string:
		return fmt.Sprintf("the string %q", v)
	}
	return fmt.Sprintf("%v", value)
}

// remedy says how to write a value that YAML does not read as the text that it is meant to be.
func remedy(t reflect.Type, value any, at *field.Path) string {
	if t.Kind() != reflect.String {
		return ""
	}
	switch v := value.(type) {
	case bool:
		return ": put it into quotes"
	case json.Number:
		if strings.HasSuffix(at.String(), "].traffic") { // of a step: quotes alone would not do
			if written := v.String() + "%"; share.MatchString(written) {
				return ": write " + written
			}
			return ": write a whole percentage from 0% to 100%"
		}
		return ": put it into quotes"
	}
	return ""
}

// describeLeaf names what a field of a type takes, as people write it: a duration is decoded as a
// string.
func describeLeaf(t, decoded reflect.Type) string {
	if t == reflect.TypeFor[metav1.Duration]() {
		return "a duration such as 10m"
	}
	return describeType(decoded)
}

func describeType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "a list"
	}
	return "a " + t.String()
}
