package preview

import (
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/approvals/report"
)

// Marker is the first line of the Markdown. Readers don't see it, and a workflow finds by it the
// comment to bring up to date.
const Marker = "<!-- sluice plan -->"

// maxComment is what GitHub takes in a comment, in bytes, with room for what a workflow adds.
const maxComment = 60_000

// maxBullets of a kind are shown, which leaves room for others: a comment that is too large is not
// posted, and what an earlier one says stays.
const maxBullets = 30

// maxFound is how much is shown of what was found in the cluster: a sentence ends with what to do.
const maxFound = 500

// markdown returns the preview as one comment. It shows text of files as code, so that the text is
// no markup and mentions no user.
func (p *Preview) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n### Sluice: %s\n", Marker, p.summary())
	bullets(&text, p.Errors, "\n- :x: ", report.Code)
	bullets(&text, p.Warnings, "\n- :warning: ", report.Code)
	p.changes(&text)
	fmt.Fprintf(&text, "\nFrom %s to %s. %s\n", p.from(), p.To.Commit, p.origin())
	return text.String()
}

// changes writes what happens to releases, as far as it fits. A release with much text takes no
// room from the names of the others, so that its author can't hide them.
func (p *Preview) changes(text *strings.Builder) {
	told := p.told()
	room := maxComment - text.Len()
	for i := range told {
		room -= len(told[i].heading())
	}
	cut := false
	for i := range told {
		heading, rest := told[i].heading(), told[i].details()
		switch {
		case len(rest) <= room:
			room -= len(rest)
			text.WriteString(heading + rest)
		case text.Len()+len(heading) <= maxComment:
			cut = true
			text.WriteString(heading)
		default:
			cut = true
		}
	}
	if cut {
		text.WriteString("\nThere is more than fits into a comment: `sluice plan` prints all of it.\n")
	}
}

// origin says what all of it rests on.
func (p *Preview) origin() string {
	if p.met {
		return "Read from files, and from the cluster as it was then."
	}
	return "Read from files: how many pods run, and what, is the cluster's to say."
}

func (c *Change) heading() string {
	return fmt.Sprintf("\n#### %s %s\n", report.Code(c.title()), c.headline())
}

// bullets lists what files and the cluster say, and counts what is beyond the limit.
func bullets(to *strings.Builder, lines []string, before string, shown func(string) string) {
	for _, line := range lines[:min(len(lines), maxBullets)] {
		fmt.Fprintf(to, "%s%s\n", before, shown(line))
	}
	if more := len(lines) - maxBullets; more > 0 {
		fmt.Fprintf(to, "%s%d more\n", before, more)
	}
}

func (c *Change) details() string {
	var text strings.Builder
	text.WriteString("\n")
	bullets(&text, c.memberLines(), "- ", report.Code)
	bullets(&text, c.Fields, "- ", report.Code)
	bullets(&text, c.Config, "- ", report.Code)
	bullets(&text, c.Routes, "- ", report.Code)
	if c.Frozen != "" {
		fmt.Fprintf(&text, "- :snowflake: %s\n", report.Code(c.Frozen))
	}
	if c.Before != nil {
		fmt.Fprintf(&text, "- %s\n", c.origin(report.Code(c.Before.Subject)))
	}
	bullets(&text, c.Cluster.lines(), "- "+inCluster, func(line string) string { return report.CodeUpTo(line, maxFound) })
	if c.Claims != nil {
		fmt.Fprintf(&text, "- %s\n", c.refusal(report.Code))
	}
	for _, remark := range c.remarks() {
		fmt.Fprintf(&text, "- %s\n", remark)
	}
	if !c.tabled() {
		return text.String()
	}
	columns := c.columns("batch", "pods", "new", "requests", "then")
	fmt.Fprintf(&text, "\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for i := range c.Batches {
		var after []string
		for _, gate := range c.after(i) {
			after = append(after, report.Code(gate))
		}
		fmt.Fprintf(&text, "| %s |\n", strings.Join(c.cells(i, strings.Join(after, " + ")), " | "))
	}
	return text.String()
}
