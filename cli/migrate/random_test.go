package migrate

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// values take the place of values of an example.
var values = []any{
	nil, true, 0.0, -1.0, 1e12, 2.5, "", "0", "1h30m", "-5s", "{{args.x}}", "{{ args.service-name }}", "{{ interval }}", "$(revision)", "$(x)", "a\nb", shown, hostile,
	"result[0] > 1", "len(result", "{$.a['b'][0]}", "http://x/{{args.a}}?b=%zz", "http://u:p@x/..", "https://[::1]:80/a#b", "Latest", "5..", strings.Repeat("x", 3000),
	[]any{}, []any{1.0, "x"}, map[string]any{}, map[string]any{"name": "x", "value": "y"}, map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.name"}},
	`sum(rate(a{code=~"5.."}[5m])) / sum(rate(a[5m]))`, `histogram_quantile(0.9, sum by (le) (rate(a_bucket{pod="x"}[$(interval)])))`, "{{ variables.interval }}{{ service }}", "ClusterAnalysisTemplate",
}

// TestRandomInput: an example with random changes is translated, and the output is valid.
func TestRandomInput(t *testing.T) {
	t.Parallel()
	all := examples(t)
	rapid.Check(t, func(r *rapid.T) {
		one := all[rapid.IntRange(0, len(all)-1).Draw(r, "example")]
		var files []File
		for _, file := range one.files {
			var documents []string
			for document := range strings.SplitSeq(string(file.Data), "\n---\n") {
				var value any
				if err := yaml.Unmarshal([]byte(document), &value); err != nil {
					t.Fatal(err)
				}
				for range rapid.IntRange(0, 6).Draw(r, "changes") {
					value = changed(r, value)
				}
				text, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				documents = append(documents, strings.ReplaceAll(string(text), "\u0085", `\u0085`))
			}
			files = append(files, File{file.Name, []byte(strings.Join(documents, "\n---\n"))})
		}
		result, unread := Analyses(files, one.options)
		if unread != nil {
			r.Fatalf("want JSON read, got %v", unread)
		}
		wantValid(t, result)
		if t.Failed() {
			r.Fatalf("the input:\n%s", files)
		}
	})
}

// changed changes something in a value.
func changed(r *rapid.T, value any) any {
	another := copied(values[rapid.IntRange(0, len(values)-1).Draw(r, "value")])
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			return another
		}
		keys := sorted(value)
		key := rapid.SampledFrom(keys).Draw(r, "key")
		switch rapid.IntRange(0, 9).Draw(r, "kind") {
		case 0:
			value[key] = another
		case 1:
			delete(value, key)
		case 2:
			value[rapid.SampledFrom(keys).Draw(r, "other")] = copied(value[key])
		default:
			value[key] = changed(r, value[key])
		}
		return value
	case []any:
		if len(value) == 0 {
			return []any{another}
		}
		i := rapid.IntRange(0, len(value)-1).Draw(r, "item")
		if rapid.IntRange(0, 4).Draw(r, "twice") == 0 {
			return append(value, copied(value[i]))
		}
		value[i] = changed(r, value[i])
		return value
	}
	return another
}

// copied returns a value that shares nothing with another one.
func copied(value any) (another any) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &another)
	}
	if err != nil {
		panic(err)
	}
	return another
}
