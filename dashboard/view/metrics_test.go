package view

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestPlots: the shares of both versions are lines over time, and the bounds of their ratio are an
// area.
func TestPlots(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	point := func(second int, fresh, old, low, high string) v1alpha1.ComparedPoint {
		return v1alpha1.ComparedPoint{Time: metav1.NewTime(begin.Add(time.Duration(second) * time.Second)), New: fresh, Old: old, Low: low, High: high}
	}
	gateWith := func(trail ...v1alpha1.ComparedPoint) *v1alpha1.Gate {
		g := &v1alpha1.Gate{}
		g.Status.Metrics = []v1alpha1.MetricStatus{{Name: "errors", Compared: &v1alpha1.Compared{Trail: trail}}, {Name: "saturation"}}
		return g
	}
	plots := plotsOf(gateWith(point(0, "0.01", "0.01", "", ""), point(30, "0.02", "0.01", "0.5", "4"), point(60, "0.04", "0.01", "1", "8")))
	if len(plots) != 1 {
		t.Fatalf("%d plots, want that of the comparison", len(plots))
	}
	p := plots[0]
	if p.New != "M0.0 80.0L200.0 60.0L400.0 20.0" || p.Old != "M0.0 80.0L200.0 80.0L400.0 80.0" || p.Most != "5 %" {
		t.Errorf("lines %s and %s up to %s", p.New, p.Old, p.Most)
	}
	if p.Band != "M200.0 20.0L400.0 0.0L400.0 80.0L200.0 90.0Z" || !strings.Contains(p.Label, "4 % of the new version, 1 % of the old one") {
		t.Errorf("area %s, label %s", p.Band, p.Label)
	}
	hostile := point(10, `"/><script>`, "NaN", "-1", "1e999")
	for name, g := range map[string]*v1alpha1.Gate{
		"nothing":     gateWith(),
		"one":         gateWith(point(0, "0.01", "0.01", "", "")),
		"hostile":     gateWith(point(0, "0.01", "0.01", "", ""), hostile, hostile),
		"out of time": gateWith(point(0, "0.01", "0.01", "", ""), point(-60, "0.01", "0.01", "", "")),
	} {
		if got := plotsOf(g); len(got) != 0 && name != "out of time" {
			t.Errorf("%s: drawn: %+v", name, got)
		}
		for _, p := range plotsOf(g) {
			if strings.ContainsAny(p.New+p.Old+p.Band, "<N") {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
	for _, text := range []string{"", "x", "-1", "NaN", "Inf", "1e300"} {
		if got := shareIn(text); !math.IsNaN(got) {
			t.Errorf("%q is %v", text, got)
		}
	}
}
