package revert

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// tree is a value with the order in which its keys are written.
type tree struct {
	keys  []string
	parts []tree
	list  bool
	text  string
}

// drawTree makes a value that is a mapping, a sequence or a text.
func drawTree(t *rapid.T, depth int) tree {
	kind := rapid.IntRange(0, 2).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return tree{text: rapid.SampledFrom([]string{
			"web:1", "web:2", "1", "yes", "null", "a, b", "it's", `say "no"`, "- x", "# none", "two\nlines\n", "ü: 1", "", " spaced ", "{}", "a: b",
		}).Draw(t, "text")}
	}
	made := tree{list: kind == 2}
	for i := range rapid.IntRange(1, 3).Draw(t, "size") {
		made.keys = append(made.keys, fmt.Sprintf("k%d", i*3+rapid.IntRange(0, 2).Draw(t, "key")))
		made.parts = append(made.parts, drawTree(t, depth-1))
	}
	return made
}

// change makes another value of one: a text here and there, a key or an item more or less.
func (v tree) change(t *rapid.T) tree {
	if v.parts == nil || rapid.IntRange(0, 9).Draw(t, "anew") == 0 {
		if rapid.Bool().Draw(t, "kept") {
			return v
		}
		return drawTree(t, 1)
	}
	made := tree{list: v.list}
	for i, part := range v.parts {
		switch rapid.IntRange(0, 9).Draw(t, "part") {
		case 0:
		case 1:
			made.keys, made.parts = append(made.keys, "n"+v.keys[i], v.keys[i]), append(made.parts, drawTree(t, 1), part)
		default:
			made.keys, made.parts = append(made.keys, v.keys[i]), append(made.parts, part.change(t))
		}
	}
	if made.parts == nil {
		return v
	}
	return made
}

// value returns the value that the tree represents.
func (v tree) value() any {
	switch {
	case v.parts == nil:
		return v.text
	case v.list:
		var all []any
		for _, part := range v.parts {
			all = append(all, part.value())
		}
		return all
	}
	all := map[string]any{}
	for i, part := range v.parts {
		all[v.keys[i]] = part.value()
	}
	return all
}

// writer writes trees as people do: no two alike.
type writer struct {
	*rapid.T
	out strings.Builder
}

func (w *writer) maybe(label string) bool { return rapid.IntRange(0, 3).Draw(w.T, label) == 0 }

// flow returns a value on one line.
func (w *writer) flow(v tree) string {
	var parts []string
	for i, part := range v.parts {
		text := w.flow(part)
		if !v.list {
			text = v.keys[i] + ": " + text
		}
		parts = append(parts, text)
	}
	switch {
	case v.parts == nil:
		return w.scalar(v.text)
	case v.list:
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (w *writer) scalar(text string) string {
	switch {
	case strings.HasPrefix(text, "web:") && w.maybe("plain"):
		return text
	case !strings.Contains(text, "\n") && w.maybe("single"):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	quoted, _ := json.Marshal(text) // a text
	return string(quoted)
}

// block writes a value behind its key or dash, which stand that deep.
func (w *writer) block(v tree, depth int) {
	switch {
	case v.parts == nil && strings.HasSuffix(v.text, "\n") && w.maybe("literal"):
		pad := strings.Repeat(" ", depth+1)
		w.out.WriteString(" |\n" + pad + strings.ReplaceAll(strings.TrimSuffix(v.text, "\n"), "\n", "\n"+pad) + "\n")
		return
	case v.parts == nil, w.maybe("flow"):
		w.out.WriteString(" " + w.flow(v))
		if w.maybe("comment") {
			w.out.WriteString(" # said here")
		}
		w.out.WriteString("\n")
		return
	}
	w.out.WriteString("\n")
	deeper := depth + rapid.IntRange(1, 4).Draw(w.T, "indent")
	for i, part := range v.parts {
		if w.maybe("blank") {
			w.out.WriteString("\n")
		}
		pad := strings.Repeat(" ", deeper)
		if w.maybe("above") {
			w.out.WriteString(pad + "# said above\n")
		}
		if v.list {
			w.out.WriteString(pad + "-")
		} else {
			w.out.WriteString(pad + v.keys[i] + ":")
		}
		w.block(part, deeper)
	}
}

const (
	before = "# Our shop.\na: 1\n---\n" + head + "  replicas: 3 # for now\n  template:"
	after  = "  paused:   no # see above\n---\nkind: Service\n"
)

// file writes a file with a template.
func file(t *rapid.T, v tree) string {
	w := &writer{T: t}
	w.block(v, 2)
	return before + w.out.String() + after
}

// TestAnyTemplateIsPutBack: any template replaces any other, however both are written, and
// everything around it stays as it is.
func TestAnyTemplateIsPutBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		was := drawTree(t, 4)
		is := was.change(t)
		then, now := file(t, was), file(t, is)
		got, err := put(now, then)
		if err != nil {
			t.Fatalf("%v, of\n%s\nand\n%s", err, now, then)
		}
		if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
			t.Fatalf("more than the template has changed:\n%s", got)
		}
		wantTemplate(t, got, was.value())
		if again, err := put(got, then); err != nil || again != got {
			t.Fatalf("done again it comes to something else: %v\n%s", err, cmp.Diff(got, again))
		}
		if is := is.value(); cmp.Equal(is, was.value()) && got != now {
			t.Fatalf("nothing was to be changed:\n%s", cmp.Diff(now, got))
		}
	})
}

func wantTemplate(t *rapid.T, text string, want any) {
	found, err := Read([]byte(text), web)
	if err != nil {
		t.Fatalf("read %v:\n%s", err, text)
	}
	var got any
	if err := json.Unmarshal(found.Template(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the template is another (-want +got):\n%s\n%s", diff, text)
	}
}

// FuzzWith: files that people send are no reason to stop, and what comes out says what it should.
func FuzzWith(f *testing.F) {
	for _, name := range []string{"values", "structure", "lines"} {
		g := readGolden(f, "testdata/"+name+".txt")
		f.Add(g.now, g.then)
		f.Add(g.then, g.now)
	}
	f.Fuzz(func(t *testing.T, now, then string) {
		got, err := put(now, then)
		if err != nil {
			return
		}
		past, _ := Read([]byte(then), web)
		if made, err := Read([]byte(got), web); err != nil || string(made.Template()) != string(past.Template()) {
			t.Errorf("%v, and another template than\n%s\nin\n%s", err, past.Template(), got)
		}
	})
}
