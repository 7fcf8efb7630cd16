package migrate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// unknown is a field that no object has.
const unknown = "zzUnknown"

// TestNothingIsDropped: a field that the translation does not know is reported, wherever it is: by
// itself, or with a part that is left out.
func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	for _, one := range examples(t) {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			for i, file := range one.files {
				documents := strings.Split(string(file.Data), "\n---\n")
				for j := range documents {
					var value any
					if err := yaml.Unmarshal([]byte(documents[j]), &value); err != nil {
						t.Fatal(err)
					}
					eachObject("", value, func(path string, fields map[string]any) {
						fields[unknown] = "x"
						defer delete(fields, unknown)
						text, err := json.Marshal(value)
						if err != nil {
							t.Fatal(err)
						}
						parts, files := slices.Clone(documents), slices.Clone(one.files)
						parts[j] = string(text)
						files[i] = File{file.Name, []byte(strings.Join(parts, "\n---\n"))}
						result, unread := Analyses(files, one.options)
						if unread != nil {
							t.Fatalf("want the input read, got %v", unread)
						}
						if !slices.ContainsFunc(result.Findings, func(f Finding) bool { return f.File == file.Name && covers(f, path+unknown) }) {
							t.Errorf("%s: want %s%s reported, got:\n%s", file.Name, path, unknown, list(result))
						}
					})
				}
			}
		})
	}
}

// covers reports whether a finding is about a field, or about a part with it that is left out or is
// no analysis.
func covers(f Finding, path string) bool {
	if f.Field == path || f.Field == strings.TrimSuffix(path, "."+unknown) && f.Kind == LeftOut {
		return true
	}
	whole := f.Kind == LeftOut || f.Message == elsewhere || f.Message == ofCanary || strings.Contains(f.Message, "is not copied")
	return whole && strings.HasPrefix(path, f.Field) && strings.ContainsAny(strings.TrimPrefix(path, f.Field)[:1], ".[") ||
		f.Field == "kind" && !strings.Contains(path, "items")
}

// eachObject calls a function with each object of a document, and its path.
func eachObject(path string, value any, do func(string, map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		do(path, value)
		for _, key := range sorted(value) {
			eachObject(path+key+".", value[key], do)
		}
	case []any:
		for i := range value {
			eachObject(fmt.Sprintf("%s[%d].", strings.TrimSuffix(path, "."), i), value[i], do)
		}
	}
}
