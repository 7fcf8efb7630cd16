package prometheus

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// row is one of the tables of metrics: name, type, labels.
	row = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (\\w+) \\|([^|]*)\\| (.*) \\|$")
	// query is code in a table.
	query = regexp.MustCompile("(?m)^\\| [^|`]+ \\| `(.*)` \\|$")
	code  = regexp.MustCompile("`([^`]+)`")
)

// TestPageListsMetrics: the page has the metrics that rules and dashboard use, each with its type
// and labels, and no others.
func TestPageListsMetrics(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, match := range row.FindAllStringSubmatch(page(t), -1) {
		name, kind, meaning := match[1], match[2], match[4]
		var labels []string
		for _, label := range code.FindAllStringSubmatch(match[3], -1) {
			labels = append(labels, label[1])
		}
		listed[name] = true
		m, ok := metrics[name]
		if !ok {
			t.Errorf("the page lists %s, which is not exported", name)
			continue
		}
		if kind != m.kind || !slices.Equal(labels, m.labels) {
			t.Errorf("%s: the page says %s of %v, want %s of %v", name, kind, labels, m.kind, m.labels)
		}
		if strings.HasSuffix(name, "_seconds") && !strings.Contains(meaning, "seconds") {
			t.Errorf("%s: want the unit in %q", name, meaning)
		}
	}
	for name := range metrics {
		if !listed[name] && name != "up" {
			t.Errorf("the page does not list %s", name)
		}
	}
}

// TestPageQueries: every query on the page works.
func TestPageQueries(t *testing.T) {
	t.Parallel()
	queries := query.FindAllStringSubmatch(page(t), -1)
	if len(queries) != 4 {
		t.Errorf("want the four queries of DORA, got %q", queries)
	}
	for _, match := range queries {
		for _, problem := range unknown(strings.ReplaceAll(match[1], `\|`, "|")) {
			t.Errorf("%s: %s", match[1], problem)
		}
	}
}

func page(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
