package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// verdict is the result of comparing a number with its goal.
type verdict string

const (
	// unjudged is a number that nobody asked for.
	unjudged verdict = ""
	met      verdict = "met"
	missed   verdict = "MISSED"
)

// row is one line of a bench's table.
type row struct {
	label, native, alone, train, sluice, argo, wanted string
	verdict                                           verdict
}

// report holds the result of a bench.
type report struct{ rows []row }

// atMost judges a value.
func atMost[T cmp.Ordered](value, limit T) verdict {
	if value <= limit {
		return met
	}
	return missed
}

// ifKnown judges what a process used, which not every system tells: 0 is not known.
func ifKnown[T number](value, limit T) verdict {
	if value == 0 {
		return unjudged
	}
	return atMost(value, limit)
}

type number interface{ ~int | ~int64 | ~float64 }

// limited returns the row with the goal of its value; a limit of 0 is none.
func limited[T number](r row, value, limit T, show func(T) string) row {
	if limit != 0 {
		r.wanted, r.verdict = "<= "+show(limit), ifKnown(value, limit)
	}
	return r
}

func (r report) missed() bool {
	return slices.ContainsFunc(r.rows, func(r row) bool { return r.verdict == missed })
}

// column is one of the table's, shown if any row has something in it.
type column struct {
	title string
	cell  func(row) string
}

var columns = []column{
	{"", func(r row) string { return r.label }},
	{"native", func(r row) string { return r.native }},
	{"alone", func(r row) string { return r.alone }},
	{"train", func(r row) string { return r.train }},
	{"Sluice", func(r row) string { return r.sluice }},
	{"Argo Rollouts", func(r row) string { return r.argo }},
	{"wanted", func(r row) string { return r.wanted }},
	{"", func(r row) string { return string(r.verdict) }},
}

// print writes the table for people and for docs/benchmarks.md.
func (r report) print(out io.Writer, name, title string) error {
	fmt.Fprintf(out, "%s  %s\n", name, title)
	shown := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return !slices.ContainsFunc(r.rows, func(row row) bool { return c.cell(row) != "" })
	})
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	line(table, shown, func(c column) string { return c.title })
	for _, row := range r.rows {
		line(table, shown, func(c column) string { return c.cell(row) })
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintln(out, strings.TrimRight(line, " \n"))
	}
	fmt.Fprintln(out)
	return nil
}

// line writes one line; the last cell needs no tab after it.
func line(table io.Writer, shown []column, cell func(column) string) {
	cells := make([]string, len(shown))
	for i, c := range shown {
		cells[i] = cell(c)
	}
	fmt.Fprintf(table, "  %s\n", strings.Join(cells, "\t"))
}
