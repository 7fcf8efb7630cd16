package prometheus

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"
)

// TestDashboardRuns: while a release waits at its gate, each query gets an answer, and the first
// panels say so. That a query can be parsed does not show that its labels match.
func TestDashboardRuns(t *testing.T) {
	t.Parallel()
	w := idle().over(released(), series{
		// A second controller that was active a moment ago still shows the same releases.
		`sluice_releases{job="sluice-metrics", pod="sluice-controller-b", namespace="shop", phase="RollingUpdate"}`:                      "0x9 1x89 0x200",
		`sluice_release_state{job="sluice-metrics", pod="sluice-controller-b", namespace="shop", release="web", state="Blocked"}`:        "_x19 1x59 _x200",
		`sluice_release_state_since_timestamp_seconds{job="sluice-metrics", pod="sluice-controller-b", namespace="shop", release="web"}`: "_x9 600x9 1200x59 4800x19 _x200",
		ofSluice("sluice_forge_reports_waiting", git): constant(7),
	})
	at := time.Unix(0, 0).Add(50 * time.Minute)
	loader := load(t, w)
	answers := map[string]string{}
	loader.WithSamplesTill(at, func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		_, d := readDashboard(t)
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				answers[p.Title] = ask(t, loader, p.Title, target.Expr, at)
			}
		}
	})
	for title, want := range map[string]string{
		"In progress":                     "{} 1",
		"Waiting":                         "{} 1",
		"Oldest waiting":                  "{} 1800",
		"In progress, or needs attention": `{namespace="shop", release="web", state="Blocked"} 1800`,
		"Active":                          "{} 1",
		"Reachable":                       "{} 2",
		"Failed":                          "{} 0",
		"Stalled":                         "",
		"Budget left":                     `{namespace="shop", source="shop"} 0.98`,
		"Queue":                           `{namespace="shop", source="shop"} 7`,
	} {
		if got := answers[title]; got != want {
			t.Errorf("%s: want %s, got %s", title, want, got)
		}
	}
}

// TestFiguresOfNothing: events that did not happen are left out. Their figure is empty, which
// panels show as a dash, while Grafana 9 would show NaN; and the legend does not name each word
// that a counter can have.
func TestFiguresOfNothing(t *testing.T) {
	t.Parallel()
	never := series{}
	for histogram, own := range map[string]string{
		"sluice_gate_wait_seconds": `type="soak", decision="Passed"`, "sluice_batch_duration_seconds": shop, "sluice_lead_time_seconds": shop,
		"sluice_release_duration_seconds": `outcome="Completed"`, "sluice_commit_to_batch_seconds": `batch="1"`, "sluice_time_to_restore_seconds": shop,
		"sluice_source_sync_duration_seconds": git, "controller_runtime_reconcile_time_seconds": `controller="rollout"`,
	} {
		never[ofSluice(histogram+"_count", own)] = constant(4)
		for _, bound := range words("60 3600 +Inf") {
			never[ofSluice(histogram+"_bucket", fmt.Sprintf(`%s, le=%q`, own, bound))] = constant(4)
		}
	}
	loader := load(t, idle().over(never))
	at := time.Unix(0, 0).Add(50 * time.Minute)
	loader.WithSamplesTill(at, func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		_, d := readDashboard(t)
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				got := ask(t, loader, p.Title, target.Expr, at)
				bars := p.FieldConfig.Defaults.Custom.DrawStyle == "bars"
				if strings.HasSuffix(got, " NaN") || bars && strings.HasSuffix(got, " 0") {
					t.Errorf("%s: shows %s", p.Title, got)
				}
				if bars && p.FieldConfig.Defaults.NoValue == "" {
					t.Errorf("%s: says that there is no data when nothing happened", p.Title)
				}
			}
		}
	})
}

// load gives the engine of Prometheus a world.
func load(t *testing.T, w world) *promqltest.LazyLoader {
	t.Helper()
	loader, err := promqltest.NewLazyLoader(w.script(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: promql})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loader.Close(); err != nil {
			t.Error(err)
		}
	})
	return loader
}

// ask returns the first answer to a query, with its labels.
func ask(t *testing.T, loader *promqltest.LazyLoader, title, expression string, at time.Time) string {
	t.Helper()
	query, err := loader.QueryEngine().NewInstantQuery(t.Context(), loader.Queryable(), nil, filled(expression), at)
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	vector, err := result.Vector()
	if err != nil {
		t.Errorf("%s: %v", title, err)
	}
	if len(vector) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %v", vector[0].Metric, vector[0].F)
}
