package preview

import (
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/approvals/report"
)

// Marker is the first line of the Markdown. Readers don't see it, and a workflow finds by it the comment to bring up to date.
const Marker = "<!-- sluice plan -->"

// maxComment is what GitHub takes in a comment, in bytes, with room for what a workflow adds.
const maxComment = 60_000

// maxFound is how much is shown of what was found in the cluster: a sentence ends with what to do.
const maxFound = 500

// markdown is the preview as one comment. What the files say is shown as code, so that it is no markup and mentions nobody.
func (p *Preview) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n### Sluice: %s\n", Marker, p.summary())
	for _, problem := range p.Errors {
		fmt.Fprintf(&text, "\n- :x: %s\n", report.Code(problem))
	}
	for _, change := range p.told() {
		part := change.markdown()
		if text.Len()+len(part) > maxComment {
			text.WriteString("\nThere is more than fits into a comment: `sluice plan` prints all of it.\n")
			break
		}
		text.WriteString(part)
	}
	fmt.Fprintf(&text, "\nFrom %s to %s. %s\n", p.from(), p.To.Commit, p.origin())
	return text.String()
}

// origin says what all of it rests on.
func (p *Preview) origin() string {
	if p.met {
		return "Read from files, and from the cluster as it was then."
	}
	return "Read from files: how many pods run, and what, is the cluster's to say."
}

func (c *Change) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n#### %s %s\n\n", report.Code(c.Namespace+"/"+c.Name), c.headline())
	for _, field := range c.Fields {
		fmt.Fprintf(&text, "- %s\n", report.Code(field))
	}
	if c.Frozen != "" {
		fmt.Fprintf(&text, "- :snowflake: %s\n", report.Code(c.Frozen))
	}
	if c.Before != nil {
		fmt.Fprintf(&text, "- %s\n", c.origin(report.Code(c.Before.Subject)))
	}
	for _, line := range c.Cluster.lines() {
		fmt.Fprintf(&text, "- %s%s\n", inCluster, report.CodeUpTo(line, maxFound))
	}
	if c.Claims != nil {
		fmt.Fprintf(&text, "- %s\n", c.refusal(report.Code))
	}
	for _, remark := range c.remarks() {
		fmt.Fprintf(&text, "- %s\n", remark)
	}
	if len(c.Batches) == 0 {
		return text.String()
	}
	text.WriteString("\n| batch | pods | new | then |\n|---|---|---|---|\n")
	for i := range c.Batches {
		batch := &c.Batches[i]
		var after []string
		for _, gate := range c.after(i) {
			after = append(after, report.Code(gate))
		}
		fmt.Fprintf(&text, "| %d/%d | %s | %s | %s |\n", i+1, len(c.Batches), c.pods(batch), batch.added(), strings.Join(after, " + "))
	}
	return text.String()
}
