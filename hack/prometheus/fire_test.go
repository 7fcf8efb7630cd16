package prometheus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// series are values over time in the notation of Prometheus' own tests: "0x10" is 0 and ten times 0
// again, "1+2x3" is 1, 3, 5, 7, "_" is none.
type series map[string]string

// world holds the scraped series of Prometheus, a value each step.
type world struct {
	step time.Duration
	// steps are how many values there are.
	steps  int
	series series
}

// fires evaluates the rules at each step, and returns what fires, and when first: "SluiceDown {}
// after 10m".
func (w world) fires(t *testing.T) []string {
	t.Helper()
	loader, err := promqltest.NewLazyLoader(w.script(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: promql})
	if err != nil {
		t.Fatalf("load series: %v", err)
	}
	defer func() {
		if err := loader.Close(); err != nil {
			t.Error(err)
		}
	}()
	groups := w.groups(t, loader)
	first := map[string]time.Duration{}
	for at := time.Duration(0); at <= time.Duration(w.steps)*w.step; at += w.step {
		loader.WithSamplesTill(time.Unix(0, 0).Add(at), func(err error) {
			if err != nil {
				t.Fatalf("load series: %v", err)
			}
			for _, group := range groups {
				group.Eval(context.Background(), time.Unix(0, 0).Add(at))
				for _, alert := range firing(t, group) {
					if _, is := first[alert]; !is {
						first[alert] = at
					}
				}
			}
		})
	}
	var fired []string
	for _, alert := range slices.Sorted(maps.Keys(first)) {
		fired = append(fired, fmt.Sprintf("%s after %s", alert, short(first[alert])))
	}
	return fired
}

// script returns the world as Prometheus' tests write it.
func (w world) script() string {
	lines := []string{"load " + short(w.step)}
	for _, name := range slices.Sorted(maps.Keys(w.series)) {
		lines = append(lines, "  "+name+" "+strings.ReplaceAll(w.series[name], forever, fmt.Sprintf("x%d", w.steps)))
	}
	return strings.Join(lines, "\n")
}

func (w world) groups(t *testing.T, loader *promqltest.LazyLoader) map[string]*rules.Group {
	t.Helper()
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()),
		AppendableV2: loader.Storage(), Context: context.Background(), Logger: promslog.NewNopLogger(), Parser: promql,
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	})
	groups, errs := m.LoadGroups(w.step, labels.EmptyLabels(), "", nil, false, rulesFile())
	if len(errs) > 0 {
		t.Fatalf("load rules: %v", errs)
	}
	return groups
}

func firing(t *testing.T, group *rules.Group) []string {
	t.Helper()
	var names []string
	for _, rule := range group.AlertingRules() {
		if err := rule.LastError(); err != nil {
			t.Fatalf("%s: %v", rule.Name(), err)
		}
		for _, alert := range rule.ActiveAlerts() {
			if alert.State != rules.StateFiring {
				continue
			}
			if text := alert.Annotations.String(); strings.Contains(text, "<no value>") || strings.Contains(text, "error expanding") {
				t.Errorf("%s: %s", rule.Name(), text)
			}
			of := labels.NewBuilder(alert.Labels).Del(labels.AlertName, "severity").Labels()
			names = append(names, rule.Name()+" "+of.String())
		}
	}
	return names
}

// short returns a duration without zeros at its end: 1h, not 1h0m0s.
func short(d time.Duration) string {
	text := strings.TrimSuffix(d.String(), "0s")
	if len(text) > 3 {
		text = strings.TrimSuffix(text, "h0m") + map[bool]string{true: "h"}[strings.HasSuffix(text, "h0m")]
	}
	return text
}

// over returns the world with other series, or with other values of the same.
func (w world) over(others ...series) world {
	all := maps.Clone(w.series)
	for _, other := range others {
		maps.Copy(all, other)
	}
	w.series = all
	return w
}

// lasting returns the world with so many values.
func (w world) lasting(step time.Duration, steps int) world {
	w.step, w.steps = step, steps
	return w
}

// TestFires: each alert fires when it should, on what it should, and nothing else does.
func TestFires(t *testing.T) {
	t.Parallel()
	fired := map[string]bool{}
	cases := append(slices.Concat(ofController, ofReleases, ofSources), quiet...)
	for _, tc := range cases {
		for _, alert := range tc.want {
			name, _, _ := strings.Cut(alert, " ")
			fired[name] = true
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.world.fires(t)); diff != "" {
				t.Errorf("%s: -want +fires:\n%s", tc.reason, diff)
			}
		})
	}
	for _, rule := range alerts(t) {
		if !fired[rule.Alert] {
			t.Errorf("no case makes %s fire", rule.Alert)
		}
	}
}
