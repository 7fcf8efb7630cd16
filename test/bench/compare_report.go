package main

import (
	"fmt"
	"slices"
	"time"
)

// goals are the goals of a comparison; zero means none.
type goals struct {
	wall time.Duration
	// ratio and ofArgo are of the wall time to the native one, and to that of Argo Rollouts, in the
	// same run.
	ratio, ofArgo float64
	handOver      time.Duration // p99
	requests      int
	// beyond is how many requests there may be beyond one delete of each pod.
	beyond int
	// all limits the requests of all controllers together.
	all  int
	cpu  time.Duration
	peak int64
}

// sides are the samples of each side, in the order of the runs; of Argo Rollouts there may be none.
type sides struct{ native, sluice, argo []sample }

// tools returns the sides with a controller of their own.
func (s sides) tools() sides { return sides{sluice: s.sluice, argo: s.argo} }

// row returns a row with a cell of each side.
func (s sides) row(label string, show func([]sample) string) row {
	r := row{label: label}
	for _, side := range []struct {
		samples []sample
		cell    *string
	}{{s.native, &r.native}, {s.sluice, &r.sluice}, {s.argo, &r.argo}} {
		if len(side.samples) > 0 {
			*side.cell = show(side.samples)
		}
	}
	return r
}

// report sums up the samples.
func (c comparison) report(s sides) report {
	return report{rows: slices.Concat(c.wallRows(s), c.handOverRows(s.tools()), c.requestRows(s), c.usageRows(s), c.podRows(s))}
}

func wallOf(s sample) time.Duration { return s.wall }

// showing returns a cell with the median of a figure.
func showing[T number](figure func(sample) T, show func(T) string) func([]sample) string {
	return func(samples []sample) string { return show(median(of(samples, figure))) }
}

func plain(n int) string { return fmt.Sprint(n) }

func (c comparison) wallRows(s sides) []row {
	first := s.row("wall time", showing(wallOf, seconds))
	rows := []row{
		limited(first, median(of(s.sluice, wallOf)), c.goals.wall, seconds),
		timesRow(s, "  times native", s.native, c.goals.ratio),
	}
	if len(s.argo) > 0 {
		rows = append(rows, timesRow(sides{sluice: s.sluice}, "  times Argo Rollouts", s.argo, c.goals.ofArgo))
	}
	return rows
}

// timesRow returns the row of the wall times as a multiple of those of a side, run by run.
func timesRow(s sides, label string, unit []sample, goal float64) row {
	ratio := func(samples []sample) float64 {
		ratios := make([]float64, len(samples))
		for i := range samples {
			ratios[i] = float64(samples[i].wall) / float64(unit[i].wall)
		}
		return median(ratios)
	}
	r := s.tools().row(label, func(samples []sample) string { return fmt.Sprintf("%.2f", ratio(samples)) })
	return limited(r, ratio(s.sluice), goal, func(goal float64) string { return fmt.Sprintf("%.1f", goal) })
}

// handOverRows returns the rows of all hand-overs.
func (c comparison) handOverRows(s sides) []row {
	all := func(samples []sample) []time.Duration {
		return slices.Concat(of(samples, func(s sample) []time.Duration { return s.handOvers })...)
	}
	share := func(p float64) func([]sample) string {
		return func(samples []sample) string { return seconds(percentile(all(samples), p)) }
	}
	return []row{
		s.row("hand-over, median", share(50)),
		limited(s.row("  p99", share(99)), percentile(all(s.sluice), 99), c.goals.handOver, seconds),
		s.row("  worst", share(100)),
	}
}

func (c comparison) requestRows(s sides) []row {
	tools := s.tools()
	counted := func(s sample) int { return total(s.requests) }
	together := func(s sample) int { return s.all }
	typical := middle(s.sluice, counted)
	rows := []row{limited(tools.row("API requests", showing(counted, plain)), counted(typical), c.goals.requests, plain)}
	if c.goals.beyond > 0 {
		rest := counted(typical) - min(typical.requests["delete"], c.deployments*int(c.pods))
		rows = append(rows, limited(row{label: "  beyond one delete a pod", sluice: plain(rest)}, rest, c.goals.beyond, plain))
	}
	return append(rows,
		tools.row("  by verb", func(samples []sample) string { return verbs(middle(samples, counted).requests) }),
		limited(s.row("  of all controllers", showing(together, plain)), median(of(s.sluice, together)), c.goals.all, plain))
}

func (c comparison) usageRows(s sides) []row {
	cpu := func(s sample) time.Duration { return s.cpu }
	peak := func(s sample) int64 { return s.peak }
	return []row{
		limited(s.tools().row("controller CPU", showing(cpu, cpuSeconds)), median(of(s.sluice, cpu)), c.goals.cpu, cpuSeconds),
		limited(s.tools().row("controller memory, peak", showing(peak, mebibytes)), median(of(s.sluice, peak)), c.goals.peak, mebibytes),
		s.row("control plane CPU", showing(func(s sample) time.Duration { return s.plane }, cpuSeconds)),
	}
}

// podRows returns the worst of all runs, for each workload.
func (c comparison) podRows(s sides) []row {
	least := func(samples []sample) int { return slices.Min(of(samples, func(s sample) int { return s.least })) }
	most := func(samples []sample) int { return slices.Max(of(samples, func(s sample) int { return s.most })) }
	floor, ceiling := c.bounds()
	fewest := s.row("least pods available", func(samples []sample) string { return plain(least(samples)) })
	fewest.wanted, fewest.verdict = fmt.Sprintf(">= %d", floor), atMost(floor, least(s.sluice))
	greatest := s.row("most pods", func(samples []sample) string { return plain(most(samples)) })
	greatest.wanted, greatest.verdict = fmt.Sprintf("<= %d", ceiling), atMost(most(s.sluice), ceiling)
	return []row{fewest, greatest}
}
