package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// threat is an entry of threats.yaml: a row of a table in security.md, and the tests that show its
// defense.
type threat struct {
	Threat string   `json:"threat"`
	Tests  []string `json:"tests"`
}

var (
	threatTable = regexp.MustCompile(`(?m)^\| threat \| defense \|\n\|---\|---\|\n((?:\|.*\|\n)+)`)
	testName    = regexp.MustCompile(`^([a-z0-9/]+)\.((?:Test|Fuzz)\w+)$`)
)

// TestThreatsAreShown: each threat of the security model has tests that exist, and each entry with
// tests is a threat there.
func TestThreatsAreShown(t *testing.T) {
	t.Parallel()
	var threats []threat
	if err := yaml.UnmarshalStrict([]byte(read(t, "threats.yaml")), &threats); err != nil {
		t.Fatalf("decode threats.yaml: %v", err)
	}
	shown := map[string]bool{}
	for _, entry := range threats {
		if shown[entry.Threat] || len(entry.Tests) == 0 {
			t.Errorf("threats.yaml: %q: want it once, with tests", entry.Threat)
		}
		shown[entry.Threat] = true
		for _, test := range entry.Tests {
			if name := testName.FindStringSubmatch(test); name == nil || !hasTest(t, name[1], name[2]) {
				t.Errorf("threats.yaml: %q: there is no %s", entry.Threat, test)
			}
		}
	}
	for _, row := range threatsOfPage(t) {
		if !shown[row] {
			t.Errorf("security.md: no test of threats.yaml shows a defense against %q", row)
		}
		delete(shown, row)
	}
	for row := range shown {
		t.Errorf("threats.yaml: security.md has no threat %q", row)
	}
}

// threatsOfPage returns the first cell of each row in the tables of threats.
func threatsOfPage(t *testing.T) []string {
	t.Helper()
	var rows []string
	for _, table := range threatTable.FindAllStringSubmatch(read(t, "security.md"), -1) {
		for line := range strings.Lines(table[1]) {
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			rows = append(rows, cell)
		}
	}
	if len(rows) == 0 {
		t.Fatal("security.md has no table of threats: is the expression right?")
	}
	return rows
}
