package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
)

// Plot draws the shares of errors of both versions over time.
type Plot struct {
	// Name is the name of the metric.
	Name string
	// New and Old are the lines of the versions, and Band is the area of the new version's share with
	// 95 % confidence, as data of SVG paths from 0,0 to 400,100; Band is empty while nothing is known.
	New, Old, Band string
	// Most is the share at the top, and Label says the last shares.
	Most, Label string
}

const (
	// plotWidth and plotHeight are the size of a plot.
	plotWidth, plotHeight = 400, 100
	// mostPoints is the number of points of a plot.
	mostPoints = 32
)

// sharePoint is a point of a plot.
type sharePoint struct {
	at         float64 // from 0 to 1
	fresh, old float64
	low, high  float64
	hasBounds  bool
}

// plotsOf returns the plots of a gate's comparisons.
func plotsOf(gate *v1alpha1.Gate) []Plot {
	var plots []Plot
	for i := range gate.Status.Metrics {
		metric := &gate.Status.Metrics[i]
		if metric.Compared == nil {
			continue
		}
		if points := pointsOf(metric.Compared.Trail); len(points) > 1 {
			plots = append(plots, plotOf(line(metric.Name), points))
		}
	}
	return plots
}

// pointsOf returns the points of a trail that can be read.
func pointsOf(trail []v1alpha1.ComparedPoint) []sharePoint {
	trail = trail[max(0, len(trail)-mostPoints):]
	if len(trail) == 0 {
		return nil
	}
	first, last := trail[0].Time.Time, trail[len(trail)-1].Time.Time
	var points []sharePoint
	for _, p := range trail {
		point := sharePoint{fresh: shareIn(p.New), old: shareIn(p.Old), low: shareIn(p.Low), high: shareIn(p.High)}
		point.hasBounds = !math.IsNaN(point.low + point.high)
		point.at = p.Time.Sub(first).Seconds() / max(last.Sub(first).Seconds(), 1)
		if !math.IsNaN(point.fresh+point.old) && point.at >= 0 && point.at <= 1 {
			points = append(points, point)
		}
	}
	return points
}

// shareIn returns the number in a text; NaN if it has none that can be drawn.
func shareIn(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value < 0 || value > 1e6 {
		return math.NaN()
	}
	return value
}

func plotOf(name string, points []sharePoint) Plot {
	most := 0.0
	for _, p := range points {
		most = max(most, p.fresh, p.old)
	}
	most = max(most*1.25, 1e-6)
	path := func(value func(sharePoint) float64) string {
		var data strings.Builder
		for i, p := range points {
			fmt.Fprintf(&data, "%c%.1f %.1f", "ML"[min(i, 1)], p.at*plotWidth, plotHeight*(1-min(value(p)/most, 1)))
		}
		return data.String()
	}
	last := points[len(points)-1]
	return Plot{
		Name: name, New: path(func(p sharePoint) float64 { return p.fresh }), Old: path(func(p sharePoint) float64 { return p.old }),
		Band: bandOf(points, most), Most: percentOf(most),
		Label: fmt.Sprintf("Share of errors over time: %s of the new version, %s of the old one", percentOf(last.fresh), percentOf(last.old)),
	}
}

// bandOf returns the area of the new version's share, by the bounds of its ratio to the old one.
func bandOf(points []sharePoint, most float64) string {
	var upper, lower []string
	for _, p := range points {
		if p.hasBounds {
			y := func(ratio float64) float64 { return plotHeight * (1 - min(p.old*ratio/most, 1)) }
			upper = append(upper, fmt.Sprintf("%.1f %.1f", p.at*plotWidth, y(p.high)))
			lower = append([]string{fmt.Sprintf("%.1f %.1f", p.at*plotWidth, y(p.low))}, lower...)
		}
	}
	if len(upper) < 2 {
		return ""
	}
	return "M" + strings.Join(append(upper, lower...), "L") + "Z"
}

func percentOf(share float64) string { return strconv.FormatFloat(100*share, 'g', 2, 64) + " %" }

// guardsOf returns the guards of a release in progress.
func guardsOf(w *show.Whole) []Gate {
	var guards []Gate
	for _, gate := range show.Guards(w) {
		shown := gateOf(gate)
		if shown.Mark == Waiting {
			shown.Mark = Moving // nothing waits for it
		}
		guards = append(guards, shown)
	}
	return guards
}
