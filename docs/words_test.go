package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// phrase is a refused phrase, and a better one.
type phrase struct {
	Avoid string `json:"avoid"`
	Write string `json:"write"`

	expression *regexp.Regexp
}

// wordList is docs/words.yaml.
type wordList struct {
	Phrases []phrase `json:"phrases"`

	any *regexp.Regexp // one of them; most texts have none
}

func words(t *testing.T) wordList {
	t.Helper()
	var list wordList
	if err := yaml.UnmarshalStrict([]byte(read(t, "words.yaml")), &list); err != nil {
		t.Fatalf("decode words.yaml: %v", err)
	}
	alternatives := make([]string, len(list.Phrases))
	for i, phrase := range list.Phrases {
		alternatives[i] = "(?:" + strings.ReplaceAll(phrase.Avoid, " ", `\s+`) + ")"
		list.Phrases[i].expression = wholeWords(t, alternatives[i])
	}
	list.any = wholeWords(t, strings.Join(alternatives, "|"))
	return list
}

func wholeWords(t *testing.T, words string) *regexp.Regexp {
	t.Helper()
	expression, err := regexp.Compile(`(?i)(?:^|\W)(` + words + `)(?:$|\W)`)
	if err != nil {
		t.Fatalf("words.yaml: %v", err)
	}
	return expression
}

// check returns the phrases of the list that a text has, with their line numbers.
func (l wordList) check(text string) []string {
	if !l.any.MatchString(text) {
		return nil
	}
	var problems []string
	for _, phrase := range l.Phrases {
		for _, at := range phrase.expression.FindAllStringSubmatchIndex(text, -1) {
			line := 1 + strings.Count(text[:at[2]], "\n")
			problems = append(problems, fmt.Sprintf("%d: %q: write %q", line, text[at[2]:at[3]], phrase.Write))
		}
	}
	return problems
}

var (
	fence  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inline = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|<!--[^>]*-->")
	hash   = regexp.MustCompile(`(?m)^[^#\n]*|#`)
)

// blank takes out what an expression finds, and leaves the lines as they are.
func blank(text string, expressions ...*regexp.Regexp) string {
	for _, expression := range expressions {
		text = expression.ReplaceAllStringFunc(text, func(found string) string { return "·" + strings.Repeat("\n", strings.Count(found, "\n")) })
	}
	return text
}

// TestWordsOfPages checks all pages except those that tests compare with.
func TestWordsOfPages(t *testing.T) {
	t.Parallel()
	list := words(t)
	for _, page := range pages(t) {
		name, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, "testdata") {
			continue
		}
		for _, problem := range list.check(blank(read(t, page), fence, inline)) {
			t.Errorf("%s:%s", name, problem)
		}
	}
}

// TestWordsOfManifests checks the comments of what people copy.
func TestWordsOfManifests(t *testing.T) {
	t.Parallel()
	list, checked := words(t), 0
	for _, folder := range []string{"examples", "charts/sluice", "config/policy", "docs/interop"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" || strings.Contains(path, "charts/sluice/files") {
				return err
			}
			checked++
			for _, problem := range list.check(blank(read(t, path), hash)) {
				t.Errorf("%s:%s", path, problem)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked == 0 {
		t.Error("no manifest was found")
	}
}

// TestWordsOfGo checks the strings of all packages: users read them as messages.
func TestWordsOfGo(t *testing.T) {
	t.Parallel()
	list := words(t)
	for _, file := range sources(t) {
		for _, problem := range list.checkGo(t, filepath.Join(root, file)) {
			t.Errorf("%s:%s", file, problem)
		}
	}
}

// checkGo checks the strings of a file, without struct tags and imports.
func (l wordList) checkGo(t *testing.T, path string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	at := func(node ast.Node, problems []string) []string {
		for i, problem := range problems {
			line, text, _ := strings.Cut(problem, ": ")
			after, err := strconv.Atoi(line)
			if err != nil {
				t.Fatal(err)
			}
			problems[i] = fmt.Sprintf("%d: %s", files.Position(node.Pos()).Line+after-1, text)
		}
		return problems
	}
	var problems []string
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			node.Tag = nil
		case *ast.BasicLit:
			if text, err := strconv.Unquote(node.Value); node.Kind == token.STRING && err == nil {
				problems = append(problems, at(node, l.check(blank(text, inline)))...)
			}
		}
		return true
	})
	return problems
}

// TestWordsAreFound: a list that finds nothing would pass.
func TestWordsAreFound(t *testing.T) {
	t.Parallel()
	list := words(t)
	for text, want := range map[string]int{
		"The release is under\nway, and Sluice mends it.":      2,
		"It is Sluice's. What is Sluice's":                     2,
		"a recommended amendment, and the kindest neighbourly": 0,
		"```sh\nmend\n```\nrun `mend`, see [it](mend.md)\n":    0,
	} {
		if got := list.check(blank(text, fence, inline)); len(got) != want {
			t.Errorf("%q: want %d phrases found, got %q", text, want, got)
		}
	}
}
