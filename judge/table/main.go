// Command table tries the judge and its rivals on worlds that are known, and prints how often each
// is wrong: go run ./judge/table. It fails if the judge breaks a promise.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/sluice-dev/sluice/judge/worlds"
)

// rivalPart is the part of the releases that rivals judge: rank tests take long.
const rivalPart = 10

func main() {
	releases := flag.Int("releases", 10_000, "releases of each world")
	flag.Parse()
	if *releases < rivalPart {
		fmt.Fprintf(os.Stderr, "-releases must be at least %d\n", rivalPart)
		os.Exit(2)
	}
	var broken []string
	fmt.Printf("%d releases of each world, each of four hours, looked at every %d s.\n\n", *releases, worlds.Interval)
	try := func(title, columns string, all []worlds.World, row func(worlds.Result) string) {
		fmt.Printf("%s:\n\n| world | %s |\n|---%s|\n", title, columns, strings.Repeat("|---", strings.Count(columns, "|")+1))
		for _, w := range all {
			r := w.Try(*releases)
			broken = append(broken, w.Broken(r)...)
			fmt.Printf("| %s | %s |\n", w.Name, row(r))
		}
	}
	try("Good versions", "rejected | left to a person | passed", worlds.Good, func(r worlds.Result) string {
		return fmt.Sprintf("%s | %s | %s", share(r, r.Rejected), share(r, r.Unfit), share(r, r.Passed))
	})
	try("\nBad versions", "rejected | requests to it, median | time, median | passed before", worlds.Bad, func(r worlds.Result) string {
		return fmt.Sprintf("%s | %.0f | %s | %s", share(r, r.Rejected), r.Requests, minutes(r.Looks), share(r, r.PassedFirst))
	})
	fmt.Printf("\nRivals, on the first %d of the same releases: rejected.\n\n", *releases/rivalPart)
	header, line := "| world |", "|---|"
	for _, rival := range worlds.Rivals {
		header, line = header+" "+rival.Name+" |", line+"---|"
	}
	fmt.Println(header)
	fmt.Println(line)
	for _, w := range append(worlds.Good, worlds.Bad...) {
		row := "| " + w.Name + " |"
		for _, rival := range worlds.Rivals {
			r := w.TryRival(rival, *releases/rivalPart)
			row += " " + share(r, r.Rejected) + " |"
		}
		fmt.Println(row)
	}
	for _, promise := range broken {
		fmt.Fprintln(os.Stderr, "broken promise:", promise)
	}
	if len(broken) > 0 {
		os.Exit(1)
	}
}

func share(r worlds.Result, of int) string {
	return fmt.Sprintf("%.1f %%", 100*float64(of)/float64(r.Releases))
}

func minutes(looks int) string {
	return fmt.Sprintf("%.1f min", float64(looks)*worlds.Interval/60)
}
