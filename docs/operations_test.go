package docs_test

import (
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What people meet in objects and metrics, as the source spells it.
var (
	reason = regexp.MustCompile(`(?m)^\s+((?:Reason|Condition)\w+)\s+= "\w+"`)
	metric = regexp.MustCompile(`(?:Name: |Gauge\()"(sluice_\w+)"`)
	event  = regexp.MustCompile(`(?:EventType\w+|"Warning"|"Normal"), "([A-Z]\w+)"`)
)

// givesReason matches a place that names a reason.
var givesReason = regexp.MustCompile(`(?:v1alpha1\.|StallCause = )(\w+)`)

// TestReasonsAreGiven: reasons.md explains each reason, and none that no code gives.
func TestReasonsAreGiven(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	for _, text := range source(t) {
		for _, match := range givesReason.FindAllStringSubmatch(text, -1) {
			given[match[1]] = true
		}
	}
	for _, name := range found(t, reason, read(t, filepath.Join(root, "api/v1alpha1/reasons.go"))) {
		if !given[name] {
			t.Errorf("no code gives %s", name)
		}
	}
}

// source returns the text of the command and the controller, without their tests.
func source(t *testing.T) []string {
	t.Helper()
	files := sources(t)
	texts := make([]string, len(files))
	for i, file := range files {
		texts[i] = read(t, filepath.Join(root, file))
	}
	return texts
}

// sources returns the Go files of the checkout, without tests.
func sources(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "zz_generated"):
			return nil
		}
		file, err := filepath.Rel(root, path)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatalf("list source: %v", err)
	}
	return files
}

// found returns the matches of an expression in texts, each once.
func found(t *testing.T, expression *regexp.Regexp, texts ...string) []string {
	t.Helper()
	names := map[string]bool{}
	for _, text := range texts {
		for _, match := range expression.FindAllStringSubmatch(text, -1) {
			names[match[1]] = true
		}
	}
	if len(names) == 0 {
		t.Errorf("%s finds nothing: is it right?", expression)
	}
	return slices.Sorted(maps.Keys(names))
}

func TestMetricsAreExplained(t *testing.T) {
	t.Parallel()
	pages := read(t, "alerts.md") + read(t, "forge.md")
	for _, name := range found(t, metric, source(t)...) {
		if !strings.Contains(pages, "`"+name+"`") {
			t.Errorf("neither alerts.md nor forge.md explains the metric %s", name)
		}
	}
}

func TestEventsAreExplained(t *testing.T) {
	t.Parallel()
	page := read(t, "operations.md") + read(t, "reasons.md")
	for _, name := range found(t, event, source(t)...) {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("operations.md: event %s is not explained", name)
		}
	}
}
