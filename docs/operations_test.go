package docs_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What people meet in objects and metrics, as the source spells it.
var (
	reason    = regexp.MustCompile(`(?m)^\s+(Reason\w+)\s+= "(\w+)"`)
	condition = regexp.MustCompile(`(?m)^\s+Condition\w+\s+= "(\w+)"`)
	metric    = regexp.MustCompile(`"(sluice_\w+)"`)
	event     = regexp.MustCompile(`(?:EventType\w+|"Warning"|"Normal"), "([A-Z]\w+)"`)
)

func TestReasonsAreExplained(t *testing.T) {
	t.Parallel()
	page := read(t, "operations.md")
	reasons := reason.FindAllStringSubmatch(read(t, filepath.Join(root, "api/v1alpha1/names.go")), -1)
	if len(reasons) == 0 {
		t.Error("no reason was found: is the expression that finds them right?")
	}
	for _, match := range reasons {
		explained := strings.Contains(page, "| `"+match[2]+"` |")
		switch given := isGiven(t, match[1]); {
		case given && !explained:
			t.Errorf("operations.md: reason %s has no line", match[2])
		case !given && explained:
			t.Errorf("operations.md: no code gives the reason %s", match[2])
		}
	}
}

// isGiven reports whether the parts of the controller use a reason.
func isGiven(t *testing.T, constant string) bool {
	t.Helper()
	word := regexp.MustCompile(`v1alpha1\.` + constant + `\b`)
	return slices.ContainsFunc(source(t), func(text string) bool { return word.MatchString(text) })
}

// source is the text of the parts of the controller, without their tests.
func source(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, part := range []string{"gitsync", "rollout", "rollout/plan", "approvals", "approvals/webhook"} {
		files, err := filepath.Glob(filepath.Join(root, part, "*.go"))
		if err != nil {
			t.Fatalf("list source: %v", err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				texts = append(texts, read(t, file))
			}
		}
	}
	return texts
}

// found are what an expression finds in texts, each once.
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

func TestConditionsAreExplained(t *testing.T) {
	t.Parallel()
	page := read(t, "operations.md")
	for _, name := range found(t, condition, read(t, filepath.Join(root, "api/v1alpha1/names.go"))) {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("operations.md: condition %s is not explained", name)
		}
	}
}

func TestMetricsAreExplained(t *testing.T) {
	t.Parallel()
	pages := read(t, "operations.md") + read(t, "forge.md")
	for _, name := range found(t, metric, source(t)...) {
		if !strings.Contains(pages, "`"+name+"`") {
			t.Errorf("neither operations.md nor forge.md explains the metric %s", name)
		}
	}
}

func TestEventsAreExplained(t *testing.T) {
	t.Parallel()
	page := read(t, "operations.md")
	for _, name := range found(t, event, source(t)...) {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("operations.md: event %s is not explained", name)
		}
	}
}
