package prometheus

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	folder  = "../../config/components/monitoring"
	runbook = "https://github.com/sluice-dev/sluice/blob/main/docs/alerts.md#"
)

var promql = parser.NewParser(parser.Options{})

func rulesFile() string { return filepath.Join(folder, "alerts.yaml") }

// alerts returns the rules of the file, which Prometheus has taken.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile(), false, model.LegacyValidation, promql, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if len(errs) > 0 {
		t.FailNow()
	}
	var rules []rulefmt.Rule
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	return rules
}

// TestAlertsAreWhole: each alert has a summary, a command to copy, and a page to read.
func TestAlertsAreWhole(t *testing.T) {
	t.Parallel()
	text := page(t)
	seen := map[string]bool{}
	for _, rule := range alerts(t) {
		t.Run(rule.Alert, func(t *testing.T) {
			if !strings.HasPrefix(rule.Alert, "Sluice") || seen[rule.Alert] {
				t.Errorf("want a name of its own that begins with Sluice")
			}
			seen[rule.Alert] = true
			if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) {
				t.Errorf("want a severity, got %v", rule.Labels)
			}
			if rule.Annotations["summary"] == "" || strings.Contains(rule.Annotations["summary"], "\n") {
				t.Errorf("want a summary of one line, got %q", rule.Annotations["summary"])
			}
			if !command.MatchString(rule.Annotations["description"]) {
				t.Errorf("want a line of the description that ends with a command, got %q", rule.Annotations["description"])
			}
			if got, want := rule.Annotations["runbook_url"], runbook+strings.ToLower(rule.Alert); got != want {
				t.Errorf("want runbook_url %s, got %s", want, got)
			}
			if !strings.Contains(text, "\n### "+rule.Alert+"\n") {
				t.Errorf("docs/alerts.md has no heading %s", rule.Alert)
			}
		})
	}
	for _, heading := range regexp.MustCompile(`(?m)^### (Sluice\w+)$`).FindAllStringSubmatch(text, -1) {
		if !seen[heading[1]] {
			t.Errorf("docs/alerts.md explains %s, which is not an alert", heading[1])
		}
	}
}

var command = regexp.MustCompile(`(?m)^.*: (kubectl|sluice) [a-z].*$`)

// TestRulesUseKnownMetrics: an alert on what nobody exports never fires.
func TestRulesUseKnownMetrics(t *testing.T) {
	t.Parallel()
	for _, rule := range alerts(t) {
		for _, problem := range unknown(rule.Expr) {
			t.Errorf("%s: %s", rule.Alert, problem)
		}
	}
}

// unknown says what is wrong with an expression: that it can't be parsed, or relies on metrics or
// labels that are not there, or takes the rate of something that does not count.
func unknown(expression string) []string {
	parsed, err := promql.ParseExpr(expression)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			problems = append(problems, unknownSeries(node, path)...)
		case *parser.AggregateExpr:
			problems = append(problems, unknownLabels(node.Grouping, node.Expr)...)
		}
		return nil
	})
	return problems
}

func unknownSeries(node *parser.VectorSelector, path []parser.Node) []string {
	m, kind, ok := find(node.Name)
	if !ok {
		return []string{fmt.Sprintf("no metric %s is exported", node.Name)}
	}
	var problems []string
	for _, matcher := range node.LabelMatchers {
		if matcher.Name != model.MetricNameLabel && !m.has(matcher.Name) {
			problems = append(problems, fmt.Sprintf("%s has no label %s", node.Name, matcher.Name))
		}
	}
	// That there is a series says something too, and so does one that is always 0.
	if within(path, "group") || node.Name == "sluice_invariant_violations_total" {
		return problems
	}
	if within(path, "rate", "irate", "increase") != (kind == counter) {
		problems = append(problems, fmt.Sprintf("%s is a %s: rates are of what counts, and only of that", node.Name, kind))
	}
	return problems
}

// within reports whether one of these functions or aggregations is around a node.
func within(path []parser.Node, names ...string) bool {
	return slices.ContainsFunc(path, func(n parser.Node) bool {
		switch n := n.(type) {
		case *parser.Call:
			return slices.Contains(names, n.Func.Name)
		case *parser.AggregateExpr:
			return slices.Contains(names, n.Op.String())
		}
		return false
	})
}

// unknownLabels returns labels that an expression is summed by, and that none of its series has.
func unknownLabels(names []string, expression parser.Expr) []string {
	var problems []string
	for _, name := range names {
		had := false
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			if series, is := node.(*parser.VectorSelector); is {
				m, _, _ := find(series.Name)
				had = had || m.has(name)
			}
			return nil
		})
		if !had {
			problems = append(problems, fmt.Sprintf("nothing in %s has the label %s", expression, name))
		}
	}
	return problems
}

func (m metric) has(label string) bool {
	return slices.Contains(m.labels, label) || slices.Contains(ofTarget, label)
}

// TestUnknownIsFound: the check of expressions finds what it looks for.
func TestUnknownIsFound(t *testing.T) {
	t.Parallel()
	for expression, wrong := range map[string]bool{
		`sum by (namespace) (sluice_releases{phase="Failed"})`:                                   false,
		`rate(sluice_release_duration_seconds_count[5m])`:                                        false,
		`histogram_quantile(0.9, sum by (le, type) (rate(sluice_gate_wait_seconds_bucket[1h])))`: false,
		`sluice_releases{`:                          true,
		`sluice_release_phases`:                     true,
		`sluice_releases{state="Failed"}`:           true,
		`sum by (state) (sluice_releases)`:          true,
		`rate(sluice_releases[5m])`:                 true,
		`sluice_rollbacks_total > 0`:                true,
		`rate(sluice_release_duration_seconds[5m])`: true,
	} {
		if got := unknown(expression); (len(got) > 0) != wrong {
			t.Errorf("%s: want a problem: %v, got %q", expression, wrong, got)
		}
	}
}
