package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		text string
		want []string // line:text
	}{
		{"one", "a: 1\n", []string{"1:a: 1\n"}},
		{"no end of line", "a: 1", []string{"1:a: 1"}},
		{"two", "a: 1\n---\nb: 1\n", []string{"1:a: 1\n", "2:---\nb: 1\n"}},
		{"leading dashes", "---\na: 1\n", []string{"1:---\na: 1\n"}},
		{"empty ones", "---\n---\n# x\n---\na: 1\n---\n", []string{"4:---\na: 1\n"}},
		{"comment after dashes", "a: 1\n--- # x\nb: 1\n", []string{"1:a: 1\n", "2:--- # x\nb: 1\n"}},
		{"content after dashes", "a: 1\n--- {b: 1}\n", []string{"1:a: 1\n", "2:--- {b: 1}\n"}},
		{"end marker", "a: 1\n...\nb: 1\n", []string{"1:a: 1\n", "3:b: 1\n"}},
		{"directive", "# x\n%YAML 1.1\n---\na: 1\n", []string{"1:# x\n%YAML 1.1\n---\na: 1\n"}},
		{"CRLF", "a: 1\r\n---\r\nb: 1\r\n", []string{"1:a: 1\r\n", "2:---\r\nb: 1\r\n"}},
		{"BOM", "\xef\xbb\xbfa: 1\n", []string{"1:a: 1\n"}},
		{"dashes in a text", "a: |\n  ---\n  b\n", []string{"1:a: |\n  ---\n  b\n"}},
		{"four dashes", "a: ----\n----\n", []string{"1:a: ----\n----\n"}},
	}
	for _, tt := range tests {
		documents, problems := split([]byte(tt.text), Limits{}.withDefaults())
		var got []string
		for _, d := range documents {
			got = append(got, fmt.Sprintf("%d:%s", d.line, d.text))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || problems != nil {
			t.Errorf("%s: problems %v, documents (-want +got):\n%s", tt.name, problems, diff)
		}
	}
}

func TestBrokenYAML(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		text string
		want string
	}{
		{"tab", "a:\n\tb: 1\n", "2: broken YAML: found character that cannot start any token"},
		{"tab later", "a: 1\n---\nb:\n  c: 1\n\td: 1\n", "5: broken YAML: "},
		{"not closed", "a: 1\nb: [1, 2\nc: 3\n", "3: broken YAML: "},
		{"not closed at the end", "a: 1\nb: [1,\n\n\n", "2: broken YAML: "},
		{"wrong indent", "a:\n    b: 1\n  c: 1\n", "3: broken YAML: "},
		{"list in a map", "a: 1\n- b\n", "2: broken YAML: "},
		{"two colons", "a: 1\nb: c: d\n", "2: broken YAML: mapping values are not allowed in this context"},
		{"duplicate key", "a: 1\nb: 2\na: 3\n", `3: broken YAML: key "a" already set in map`},
		{"duplicate key deep down", "---\n# x\na:\n- b: 1\n  c: 2\n  b: 3\n", `6: broken YAML: key "b" already set in map`},
		{"two duplicates", "a: 1\na: 2\na: 3\n", `2: broken YAML: key "a" already set in map`},
		{"unknown anchor", "a: 1\nb: *x\n", "1: broken YAML: unknown anchor 'x' referenced"},
		{"Helm", "a: {{ .Values.a }}\n", "1: this looks like a template"},
		{"not UTF-8", "a: caf\xe9\n", "1: the file is not UTF-8 text"},
		{"UTF-16", "\xff\xfea\x00:\x00", "1: the file is not UTF-8 text"},
		{"binary", "\x00\x01\x02", "1: broken YAML: control characters are not allowed"},
		{"CRLF", "a: 1\r\nb: [\r\n", "2: broken YAML: "},
		{"BOM", "\xef\xbb\xbfa: 1\na: 2\n", `2: broken YAML: key "a" already set in map`},
	}
	for _, tt := range tests {
		result := read(t, map[string]string{"x.yaml": tt.text})
		found := slices.Concat(result.Errors, result.Notices) // an error only where it may concern releases
		if len(found) == 0 {
			t.Errorf("%s: nothing is said", tt.name)
			continue
		}
		if got := found[0].Error(); !strings.HasPrefix(got, "x.yaml:"+tt.want) {
			t.Errorf("%s: got %s, want x.yaml:%s", tt.name, got, tt.want)
		}
	}
}

func TestLinesWithAliases(t *testing.T) {
	t.Parallel()
	text := strings.Replace(release("web", template), "spec:\n", "spec:\n  strategy: &s\n    steps:\n    - replicas: 100%\n    wrong: 1\n", 1) +
		"  rollback: *s\n"
	wantErrors(t, read(t, map[string]string{"r.yaml": text}),
		"r.yaml:9: spec.rollback.wrong: unknown field", "r.yaml:9: spec.strategy.wrong: unknown field")
}

// TestLinesInFilesOfAllKinds: Lines of errors must be right whatever stands before the document.
func TestLinesInFilesOfAllKinds(t *testing.T) {
	t.Parallel()
	bad := release("web", strategy+template+"wrong: 1")
	tests := map[string]string{
		"9":  bad,
		"10": "---\n" + bad,
		"11": "# a\n# b\n" + bad,
		"12": "a: 1\n---\n# b\n" + bad,
	}
	for line, text := range tests {
		for _, ending := range []string{"\n", "\r\n"} {
			for _, mark := range []string{"", "\xef\xbb\xbf"} {
				text := mark + strings.ReplaceAll(text, "\n", ending)
				wantErrors(t, read(t, map[string]string{"r.yaml": text}), "r.yaml:"+line+": spec.wrong: unknown field")
			}
		}
	}
}

// TestColumns: an error names the column of the field, as editors count it.
func TestColumns(t *testing.T) {
	t.Parallel()
	result := read(t, map[string]string{"web.yaml": "# ä\n" + release("web", "strategy: {stps: [], steps: [{replicas: 100%}]}")})
	if len(result.Errors) != 1 || result.Errors[0].Line != 8 || result.Errors[0].Column != 14 {
		t.Errorf("want one error at 8:14, got %+v", result.Errors)
	}
}
