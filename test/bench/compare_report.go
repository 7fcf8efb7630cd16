package main

import (
	"fmt"
	"slices"
	"time"
)

// goals are the goals of a comparison; zero means none.
type goals struct {
	wall time.Duration
	// ratio of the wall time to the native one in the same run.
	ratio    float64
	handOver time.Duration // p99
	requests int
	// beyond is how many requests there may be beyond one delete of each pod.
	beyond int
	cpu    time.Duration
}

// figures are another tool's, as they were told.
type figures struct{ wall, handOver, requests, cpu string }

// report sums up the samples of both sides, which are in the order of the runs.
func (c comparison) report(native, sluice []sample) report {
	rows := slices.Concat(
		c.wallRows(native, sluice), c.handOverRows(sluice), c.requestRows(sluice), c.usageRows(native, sluice), c.podRows(native, sluice),
	)
	for _, peer := range []struct {
		figures *figures
		cell    func(*row) *string
	}{
		{c.argo, func(r *row) *string { return &r.argo }},
		{c.kruise, func(r *row) *string { return &r.kruise }},
	} {
		if peer.figures != nil {
			peer.figures.fillIn(rows, peer.cell)
		}
	}
	return report{rows: rows}
}

// The labels of rows that have a number of others next to ours.
const (
	wallLabel     = "wall time"
	handOverLabel = "hand-over, median"
	requestsLabel = "API requests"
	cpuLabel      = "controller CPU"
)

func (f figures) fillIn(rows []row, cell func(*row) *string) {
	told := map[string]string{wallLabel: f.wall, handOverLabel: f.handOver, requestsLabel: f.requests, cpuLabel: f.cpu}
	for i := range rows {
		*cell(&rows[i]) = told[rows[i].label]
	}
}

func wallOf(s sample) time.Duration { return s.wall }

func (c comparison) wallRows(native, sluice []sample) []row {
	wall := median(of(sluice, wallOf))
	first := row{label: wallLabel, native: seconds(median(of(native, wallOf))), sluice: seconds(wall)}
	if c.goals.wall > 0 {
		first.wanted, first.verdict = "<= "+seconds(c.goals.wall), atMost(wall, c.goals.wall)
	}
	ratios := make([]float64, len(sluice))
	for i := range sluice {
		ratios[i] = float64(sluice[i].wall) / float64(native[i].wall)
	}
	ratio := median(ratios)
	second := row{label: "  times native", sluice: fmt.Sprintf("%.2f", ratio)}
	if c.goals.ratio > 0 {
		second.wanted, second.verdict = fmt.Sprintf("<= %.1f", c.goals.ratio), atMost(ratio, c.goals.ratio)
	}
	return []row{first, second}
}

// handOverRows returns the rows of all hand-overs.
func (c comparison) handOverRows(sluice []sample) []row {
	all := slices.Concat(of(sluice, func(s sample) []time.Duration { return s.handOvers })...)
	p99 := percentile(all, 99)
	rows := []row{
		{label: handOverLabel, sluice: seconds(median(all))},
		{label: "  p99", sluice: seconds(p99)},
		{label: "  worst", sluice: seconds(slices.Max(all))},
	}
	if c.goals.handOver > 0 {
		rows[1].wanted, rows[1].verdict = "<= "+seconds(c.goals.handOver), atMost(p99, c.goals.handOver)
	}
	return rows
}

func (c comparison) requestRows(sluice []sample) []row {
	counted := func(s sample) int { return total(s.requests) }
	typical := middle(sluice, counted)
	all := row{label: requestsLabel, sluice: fmt.Sprint(counted(typical))}
	if c.goals.requests > 0 {
		all.wanted, all.verdict = fmt.Sprintf("<= %d", c.goals.requests), atMost(counted(typical), c.goals.requests)
	}
	rows := []row{all}
	if c.goals.beyond > 0 {
		rest := counted(typical) - min(typical.requests["delete"], c.deployments*int(c.pods))
		rows = append(rows, row{
			label: "  beyond one delete a pod", sluice: fmt.Sprint(rest),
			wanted: fmt.Sprintf("<= %d", c.goals.beyond), verdict: atMost(rest, c.goals.beyond),
		})
	}
	return append(rows, row{label: "  by verb", sluice: verbs(typical.requests)})
}

func (c comparison) usageRows(native, sluice []sample) []row {
	plane := func(samples []sample) string {
		return cpuSeconds(median(of(samples, func(s sample) time.Duration { return s.plane })))
	}
	cpu := median(of(sluice, func(s sample) time.Duration { return s.cpu }))
	peak := median(of(sluice, func(s sample) int64 { return s.peak }))
	first := row{label: cpuLabel, sluice: cpuSeconds(cpu)}
	if c.goals.cpu > 0 {
		first.wanted, first.verdict = "<= "+cpuSeconds(c.goals.cpu), ifKnown(cpu, c.goals.cpu)
	}
	return []row{
		first,
		{label: "controller memory, peak", sluice: mebibytes(peak)},
		{label: "control plane CPU", native: plane(native), sluice: plane(sluice)},
	}
}

// podRows returns the worst of all runs, for each workload.
func (c comparison) podRows(native, sluice []sample) []row {
	least := func(samples []sample) int { return slices.Min(of(samples, func(s sample) int { return s.least })) }
	most := func(samples []sample) int { return slices.Max(of(samples, func(s sample) int { return s.most })) }
	floor, ceiling := c.bounds()
	return []row{
		{
			label: "least pods available", native: fmt.Sprint(least(native)), sluice: fmt.Sprint(least(sluice)),
			wanted: fmt.Sprintf(">= %d", floor), verdict: atMost(floor, least(sluice)),
		},
		{
			label: "most pods", native: fmt.Sprint(most(native)), sluice: fmt.Sprint(most(sluice)),
			wanted: fmt.Sprintf("<= %d", ceiling), verdict: atMost(most(sluice), ceiling),
		},
	}
}
