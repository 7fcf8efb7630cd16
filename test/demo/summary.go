package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sluice-dev/sluice/internal/plain"
)

// summary returns the end of the story in a table: the pushes, their results, and the claims with
// their findings.
func summary(s *story, found findings) string {
	start := s.screen.start
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "  VERSION\tIMAGE\tCOMMIT\tPUSHED AT\tPASSED GATES\tOUTCOME")
	for i, v := range s.versions {
		fmt.Fprintf(table, "  %d\t%s\t%s\t%s\t%s\t%s\n", v.number, v.image, plain.Commit(v.commit),
			since(start, v.pushed), confirmed(s.claims, v), outcome(s.versions, i, start))
	}
	table.Flush()
	c := s.claims
	fmt.Fprintf(&out, "\n  least available pods  %d of %d (promised: at least %d)\n", found.leastAvailable, c.replicas, c.replicas-c.maxUnavailable)
	fmt.Fprintf(&out, "  most pods asked for   %d (promised: at most %d); with those that were terminating, %d at most\n", found.mostDesired, c.replicas+c.maxSurge, found.mostPods)
	fmt.Fprintf(&out, "  gates                 %d passed, by what was merged or posted; none without\n", len(c.confirmations))
	return out.String()
}

// kindSummary has a line for each workload that one push released: how it went through its gates,
// and what the watch log says of its pods.
func kindSummary(start time.Time, stories []*story, found []findings) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "  KIND\tNAME\tIMAGE\tPASSED GATES\tLEAST AVAILABLE\tMOST ASKED FOR\tOUTCOME")
	for i, s := range stories {
		c, last := s.claims, len(s.versions)-1
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%d of %d (promised: %d)\t%d (promised: %d)\t%s\n", s.kind, s.name, s.versions[last].image,
			confirmed(c, s.versions[last]), found[i].leastAvailable, c.replicas, c.replicas-c.maxUnavailable,
			found[i].mostDesired, c.replicas+c.maxSurge, outcome(s.versions, last, start))
	}
	table.Flush()
	return out.String() + "\n"
}

func since(start, t time.Time) string { return fmt.Sprintf("%.1f s", t.Sub(start).Seconds()) }

// confirmed lists the batches of a version that went through their gates, as pods of all pods.
func confirmed(c claims, v *version) string {
	var batches []string
	for _, confirmation := range c.confirmations {
		if confirmation.commit == v.commit {
			batches = append(batches, fmt.Sprintf("%d/%d by %s", c.targets[confirmation.step], c.replicas, confirmation.what))
		}
	}
	if len(batches) == 0 {
		return "-"
	}
	return strings.Join(batches, ", ")
}

func outcome(versions []*version, i int, start time.Time) string {
	v := versions[i]
	switch {
	case i == 0:
		return "deployed at " + since(start, v.finished)
	case v.heldBy != "":
		return fmt.Sprintf("held by %s, overtaken by version %d", v.heldBy, versions[i+1].number)
	default:
		return "released at " + since(start, v.finished)
	}
}

// statusTable shows the statuses of a commit in the order in which they are given.
func statusTable(statuses []commitStatus) string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	for _, status := range statuses {
		fmt.Fprintf(table, "    %s\t%s\t%s\n", status.Context, status.State, status.Description)
	}
	table.Flush()
	return out.String()
}
