// Package docs_test holds the documentation to what is there: links lead somewhere, YAML is what
// the API takes, claims name tests that exist, and the words are plain.
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// root is the checkout.
const root = ".."

// pages returns all Markdown files of the checkout.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("list pages: %v", err)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return string(data)
}

var (
	link  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	title = regexp.MustCompile(`(?m)^#+ (.*)$`)
	block = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
)

func TestLinks(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(read(t, page), -1) {
			if problem := follow(t, page, match[1]); problem != "" {
				t.Errorf("%s: link %s: %s", page, match[1], problem)
			}
		}
	}
}

// follow says what is wrong with a link to another place in the checkout.
func follow(t *testing.T, page, target string) string {
	t.Helper()
	if strings.Contains(target, "://") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	path := page
	if file != "" {
		path = filepath.Join(filepath.Dir(page), file)
	}
	if _, err := os.Stat(path); err != nil {
		return "there is no such file"
	}
	if anchor != "" && !hasAnchor(read(t, path), anchor) {
		return "there is no such heading"
	}
	return ""
}

// TestEachPageIsListed checks that README lists each page, or CONTRIBUTING if it is for
// maintainers.
func TestEachPageIsListed(t *testing.T) {
	t.Parallel()
	lists := read(t, filepath.Join(root, "README.md")) + read(t, filepath.Join(root, "CONTRIBUTING.md"))
	listed := 0
	for _, page := range pages(t) {
		file, below := strings.CutPrefix(filepath.ToSlash(page), "../docs/")
		if !below || strings.HasPrefix(file, "adr/") {
			continue
		}
		listed++
		if !strings.Contains(lists, "](docs/"+file+")") {
			t.Errorf("docs/%s is in no list of README.md or CONTRIBUTING.md", file)
		}
	}
	if listed == 0 {
		t.Error("no page was found")
	}
}

func hasAnchor(text, anchor string) bool {
	for _, match := range title.FindAllStringSubmatch(text, -1) {
		words := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(match[1]), "")
		if strings.ReplaceAll(words, " ", "-") == anchor {
			return true
		}
	}
	return false
}

func TestYAML(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, page := range pages(t) {
		for i, match := range block.FindAllStringSubmatch(read(t, page), -1) {
			for document := range strings.SplitSeq(match[1], "\n---\n") {
				if err := decode([]byte(document)); err != nil {
					t.Errorf("%s: YAML block %d: %v", page, i+1, err)
				}
				checked++
			}
		}
	}
	if checked == 0 {
		t.Error("no YAML block was found: is the expression that finds them right?")
	}
}

// decode reads a manifest of ours strictly, a list of steps as such, and of anything else that it
// is YAML at all.
func decode(document []byte) error {
	kind := struct {
		Kind  string
		Steps []any
	}{}
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	kinds := map[string]any{
		"BatchRelease":  &v1alpha1.BatchRelease{},
		"ReleaseSource": &v1alpha1.ReleaseSource{},
		"Gate":          &v1alpha1.Gate{},
	}
	into, ours := kinds[kind.Kind]
	if !ours && kind.Steps != nil {
		into, ours = &v1alpha1.ReleaseStrategy{}, true
	}
	if !ours {
		return nil
	}
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		return fmt.Errorf("decode %s: %w", kind.Kind, err)
	}
	return nil
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatalf("list tests: %v", err)
	}
	for _, file := range files {
		if strings.Contains(read(t, file), "func "+name+"(") {
			return true
		}
	}
	return false
}
