package docs_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "lower the numbers in comments.yaml")

const longestComment = 100

// inTests follows the name of a package in comments.yaml where its tests are counted.
const inTests = " (tests)"

// notVerbs are words with the ending of a verb in the third person.
var notVerbs = []string{"its", "this", "as", "has-been", "pods", "was"}

// pronouns are words that begin a relative clause, or name nobody.
var pronouns = []string{"what", "those", "whoever", "whatever", "nobody", "somebody", "everybody", "who", "where", "how"}

// vague is a clause that defines by a relative clause, or has a subject that nobody can name.
var vague = regexp.MustCompile(`(?i)\b(?:is|are|be) (?:what|whoever|whatever|whether|how (?:it|he|she|the|a|an|to)|why|where|who|those that|those of)\b` +
	`|(?:^|[.;:] )(?:what|those|whoever|whatever|nobody|somebody|everybody)\b`)

// breach is a comment that does not have the form.
type breach struct {
	at, rule, example string
}

func (b breach) String() string { return fmt.Sprintf("%s: %s; write %s", b.at, b.rule, b.example) }

// TestCommentsOfGo checks that doc comments have the form name, verb, object; that of a test may be
// its name, a colon and the promise. comments.yaml lists the number of breaches of each package,
// and of its tests apart, which may only fall.
func TestCommentsOfGo(t *testing.T) {
	t.Parallel()
	found := map[string][]breach{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..") {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasPrefix(entry.Name(), "zz_generated") {
			return nil
		}
		name := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), "../"))
		if strings.HasSuffix(path, "_test.go") {
			name += inTests
		}
		breaches, err := breachesOf(path)
		found[name] = append(found[name], breaches...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	if err := yaml.UnmarshalStrict([]byte(read(t, "comments.yaml")), &listed); err != nil {
		t.Fatalf("decode comments.yaml: %v", err)
	}
	if *update {
		lower(t, found, listed)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		switch is, may := len(found[name]), listed[name]; {
		case is > may:
			t.Errorf("%s has %d comments without the form, at most %d are listed:", name, is, may)
			for _, b := range found[name] {
				t.Errorf("  %s", b)
			}
		case is < may:
			t.Errorf("%s has only %d comments without the form: lower its number in docs/comments.yaml from %d (go test ./docs -run TestCommentsOfGo -update)", name, is, may)
		}
	}
	for name := range listed {
		if _, there := found[name]; !there {
			t.Errorf("docs/comments.yaml lists %s, which does not exist", name)
		}
	}
}

// lower rewrites comments.yaml with the numbers that have fallen.
func lower(t *testing.T, found map[string][]breach, listed map[string]int) {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("# The packages whose comments do not have the form of CONTRIBUTING (name, verb, object) yet, with the number of such comments.\n" +
		"# A number may only fall: go test ./docs -run TestCommentsOfGo -update\n")
	maps.DeleteFunc(listed, func(name string, _ int) bool { return found[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		listed[name] = min(listed[name], len(found[name]))
		if n := listed[name]; n > 0 {
			fmt.Fprintf(&out, "%s: %d\n", name, n)
		}
	}
	if err := os.WriteFile("comments.yaml", out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func breachesOf(path string) ([]breach, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var all []breach
	add := func(at token.Pos, rule, example string) {
		all = append(all, breach{strings.TrimPrefix(fset.Position(at).String(), "../"), rule, example})
	}
	for _, group := range file.Comments {
		for _, line := range group.List {
			if len([]rune(line.Text)) > longestComment && !strings.HasPrefix(line.Text, "//nolint") && !strings.HasPrefix(line.Text, "// +") && !strings.Contains(line.Text, "://") {
				add(line.Pos(), fmt.Sprintf("a line of %d characters", len([]rune(line.Text))), fmt.Sprintf("at most %d", longestComment))
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			checkDoc(add, d.Name.Name, d.Doc, true)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					checkDoc(add, s.Name.Name, first(s.Doc, d.Doc), false)
					checkFields(add, s.Type)
				case *ast.ValueSpec:
					checkVague(add, s.Doc)
				}
			}
		}
	}
	return all, nil
}

func first(docs ...*ast.CommentGroup) *ast.CommentGroup {
	for _, doc := range docs {
		if doc != nil {
			return doc
		}
	}
	return nil
}

// checkDoc checks the first sentence of a doc comment: the name, and then a verb; for a type also
// "is" or "are" with a noun.
func checkDoc(add func(token.Pos, string, string), name string, doc *ast.CommentGroup, isFunc bool) {
	if doc == nil {
		return
	}
	words := strings.Fields(doc.Text())
	switch {
	case len(words) < 2:
	case words[0] == name && slices.Contains(pronouns, words[1]):
		add(doc.Pos(), fmt.Sprintf("%q is no verb", words[1]), "a noun phrase, or a subject that acts")
	case !isFunc:
	case isTest(name) && words[0] == name+":":
		// The rest is the promise that the test holds.
	case words[0] != name:
		add(doc.Pos(), fmt.Sprintf("it begins with %q, and is about %s", words[0], name), name+" returns ...")
	case !isVerb(words[1]):
		add(doc.Pos(), fmt.Sprintf("%q is no verb", words[1]), name+" returns ..., "+name+" reports whether ...")
	}
	checkVague(add, doc)
}

// isTest reports whether go test runs a function of the name.
func isTest(name string) bool {
	return slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// isVerb reports whether a word is a verb in the third person, as far as its ending says.
func isVerb(word string) bool {
	word = strings.TrimRight(word, ",.:;")
	letters := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLower(r) }) < 0
	return letters && strings.HasSuffix(word, "s") && word != "is" && !slices.Contains(notVerbs, word)
}

func checkVague(add func(token.Pos, string, string), doc *ast.CommentGroup) {
	if doc == nil {
		return
	}
	if words := vague.FindString(strings.Join(strings.Fields(doc.Text()), " ")); words != "" {
		add(doc.Pos(), fmt.Sprintf("%q defines nothing, or names nobody", strings.TrimSpace(words)), "a noun phrase, or a subject that acts")
	}
}

// checkFields checks the comments of fields, and of the methods of an interface.
func checkFields(add func(token.Pos, string, string), of ast.Expr) {
	switch of := of.(type) {
	case *ast.StructType:
		for _, field := range of.Fields.List {
			checkVague(add, field.Doc)
			checkFields(add, field.Type)
		}
	case *ast.InterfaceType:
		for _, method := range of.Methods.List {
			if _, is := method.Type.(*ast.FuncType); is && len(method.Names) == 1 {
				checkDoc(add, method.Names[0].Name, method.Doc, true)
			}
		}
	}
}
