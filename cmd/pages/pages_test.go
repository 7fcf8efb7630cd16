package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPagesAreCurrent(t *testing.T) {
	t.Chdir("../..")
	written := t.TempDir()
	if err := write(written); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(written, "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("list pages: %v, %v", files, err)
	}
	for _, file := range files {
		name := filepath.Join("docs", filepath.Base(file))
		if diff := cmp.Diff(read(t, name), read(t, file)); diff != "" {
			t.Errorf("%s is not current: run make generate (-have +want):\n%s", name, diff)
		}
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	const head = "package p\n\n// Some reasons. Of a thing.\nconst (\n"
	for name, tt := range map[string]struct{ source, want string }{
		"Row": {
			source: "\t// ReasonA: it is so.\n\t// Action: none. See docs/gates.md#who-said-so.\n\tReasonA = \"A\"\n",
			want:   "| `A` | It is so. | None. See [who said so](gates.md#who-said-so). |",
		},
		"NoComment": {source: "\tReasonA = \"A\"\n", want: "the comment of ReasonA must read"},
		"NoAction":  {source: "\t// ReasonA: it is so.\n\tReasonA = \"A\"\n", want: "the comment of ReasonA must read"},
		"Other":     {source: "\t// ReasonB: it is so.\n\t// Action: none.\n\tReasonA = \"A\"\n", want: "the comment of ReasonA must read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			put(t, root, "reasons.go", head+tt.source+")\n")
			text, err := reasonsPage(filepath.Join(root, "reasons.go"))
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, tt.want) {
				t.Errorf("want %q, got %q", tt.want, text)
			}
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
