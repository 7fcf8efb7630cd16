package preview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Formats are those of a preview.
var Formats = []plain.Format{plain.Text, plain.JSON, plain.Markdown}

// Write writes the preview.
func (p *Preview) Write(to io.Writer, format plain.Format) error {
	return plain.Write(to, format, p, map[plain.Format]func() string{plain.Text: p.text, plain.Markdown: p.markdown})
}

// told lists which changes are written out, the weightiest first. What is unchanged is only
// counted.
var told = []Kind{Released, RolledBack, Unfrozen, Added, Removed, Kept, Changed}

func (p *Preview) told() []Change {
	var changes []Change
	for _, kind := range told {
		of := p.Of(kind)
		slices.SortStableFunc(of, func(a, b Change) int { // members below their train
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(cmp.Or(a.Train, a.Name), cmp.Or(b.Train, b.Name)), cmp.Compare(a.Train, b.Train))
		})
		changes = append(changes, of...)
	}
	return changes
}

// summary counts what happens.
func (p *Preview) summary() string {
	words := map[Kind]string{
		Released: "released", RolledBack: "rolled back", Added: "added", Removed: "removed",
		Kept: "kept for errors", Unfrozen: "no longer frozen", Changed: "with other rules", Unchanged: "unchanged",
	}
	var parts []string
	for _, kind := range append(told, Unchanged) {
		if n := len(p.Of(kind)); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[kind]))
		}
	}
	if len(p.Errors) > 0 {
		parts = append(parts, plain.Count(len(p.Errors), "error"))
	}
	if len(p.Warnings) > 0 {
		parts = append(parts, plain.Count(len(p.Warnings), "warning"))
	}
	if parts == nil {
		return "no releases"
	}
	return strings.Join(parts, ", ")
}

// Err sums up what has to be fixed, nil if it is nothing.
func (p *Preview) Err() error {
	if len(p.Errors) == 0 {
		return nil
	}
	return fmt.Errorf("%s in the files of %s", plain.Count(len(p.Errors), "error"), p.To.Commit)
}

// headline says what happens to a release.
func (c *Change) headline() string {
	what := map[Kind]string{
		Released:   "is released",
		RolledBack: "is rolled back",
		Added:      "is added",
		Removed:    "is removed",
		Kept:       "stays as it is",
		Unfrozen:   "is no longer frozen; what waited goes on",
		Changed:    "has other rules; no pod is replaced",
	}[c.Kind]
	if c.Kind != Released && c.Kind != RolledBack {
		return what
	}
	if c.isTrain() {
		what = c.together()
	}
	what += " in " + batches(len(c.Batches))
	if c.Train != "" {
		what += ", with train " + c.Train
	}
	return what
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return strconv.Itoa(n) + " batches"
}

// origin says where a template that comes back was before; the subject of that commit as it is to
// be shown.
func (c *Change) origin(subject string) string {
	return fmt.Sprintf("The template is that of commit %s (%s). A cluster that has kept it rolls back to it, as here; any other releases it by the steps of the strategy.",
		c.Before.Commit, subject)
}

// refusal says what comes of volume claim templates that differ; their place and names as they are
// to be shown.
func (c *Change) refusal(shown func(string) string) string {
	return fmt.Sprintf("%s: spec.volumeClaimTemplates of StatefulSet %s differ (%s): Kubernetes does not let them change, and the release is not applied while "+
		"the cluster has others than Git. Put back in Git what the cluster has, or delete the StatefulSet with --cascade=orphan.",
		shown(place(c.Claims.File, c.Claims.Line)), c.Workload, shown(spec.ClaimNames(c.Claims.Names)))
}

// place returns a line of a file; 0 where none can be named.
func place(file string, line int) string {
	if line == 0 {
		return plain.Place(file)
	}
	return fmt.Sprintf("%s:%d", plain.Place(file), line)
}

// from returns the commit before; nothing was before the first of all.
func (p *Preview) from() string { return cmp.Or(p.From.Commit, "nothing") }

// pods says how many run the new template after a batch.
func (c *Change) pods(b *Batch) string {
	if b.Pods == nil || c.Replicas == nil {
		return b.Share
	}
	return fmt.Sprintf("%d of %d (%s)", *b.Pods, *c.Replicas, b.Share)
}

func (b *Batch) added() string {
	switch {
	case b.New == nil:
		return "?"
	case *b.New == 0:
		return "none"
	}
	return fmt.Sprintf("+%d", *b.New)
}

func (p *Preview) text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s -> %s: %s\n", plain.Commit(p.from()), plain.Commit(p.To.Commit), p.summary())
	for _, problem := range p.Errors {
		fmt.Fprintf(&text, "\nerror: %s\n", plain.Line(problem))
	}
	for _, problem := range p.Warnings {
		fmt.Fprintf(&text, "\nwarning: %s\n", plain.Line(problem))
	}
	for _, change := range p.told() {
		fmt.Fprintf(&text, "\n%s %s\n", plain.Line(change.title()), change.headline())
		for _, line := range change.lines() {
			fmt.Fprintf(&text, "  %s\n", plain.Line(line))
		}
		change.table(&text)
	}
	return text.String()
}

// lines describes a change, without its batches.
func (c *Change) lines() []string {
	lines := slices.Concat(c.memberLines(), c.Fields, c.Config, c.Routes)
	if c.Frozen != "" {
		lines = append(lines, c.Frozen)
	}
	if c.Before != nil {
		lines = append(lines, c.origin(c.Before.Subject))
	}
	for _, line := range c.Cluster.lines() {
		lines = append(lines, inCluster+line)
	}
	if c.Claims != nil {
		lines = append(lines, c.refusal(func(text string) string { return text }))
	}
	return append(lines, c.remarks()...)
}

// memberLines returns the members that a train releases together.
func (c *Change) memberLines() []string {
	if len(c.Members) < 2 {
		return nil
	}
	return c.Members
}

// inCluster goes before what was found there.
const inCluster = "In the cluster: "

// remarks returns the notes, none of which has text of a file.
func (c *Change) remarks() []string {
	notes := append(slices.Clip(c.Notes), c.trafficRemarks()...)
	if c.Replicas == nil || len(c.Batches) == 0 {
		return notes
	}
	most, least := c.most(), max(int64(*c.Replicas)-int64(c.Unavailable), 0)
	return append(notes, fmt.Sprintf("At most %d pods, at least %d available.", most, least))
}

// tabled reports whether the batches are shown. A member has the batches of its train.
func (c *Change) tabled() bool { return len(c.Batches) > 0 && c.Train == "" }

func (c *Change) table(to io.Writer) {
	if !c.tabled() {
		return
	}
	table := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "  "+strings.Join(c.columns("BATCH", "PODS", "NEW", "REQUESTS", "THEN"), "\t"))
	for i := range c.Batches {
		fmt.Fprintln(table, "  "+strings.Join(c.cells(i, plain.Line(strings.Join(c.after(i), " + "))), "\t"))
	}
	table.Flush()
}

// columns returns those of the table of batches. Only a release whose requests are shared has one
// for them.
func (c *Change) columns(batch, pods, added, requests, then string) []string {
	if !c.shares() {
		return []string{batch, pods, added, then}
	}
	return []string{batch, pods, added, requests, then}
}

// cells returns the row of a batch, with what is waited for after it as it is to be shown.
func (c *Change) cells(i int, then string) []string {
	batch, requests := &c.Batches[i], ""
	if batch.Traffic != nil {
		requests = batch.requests()
	}
	return c.columns(fmt.Sprintf("%d/%d", i+1, len(c.Batches)), c.pods(batch), batch.added(), requests, then)
}

// after returns what is waited for after a batch.
func (c *Change) after(batch int) []string {
	gates := c.Batches[batch].Gates
	switch {
	case len(gates) > 0:
		return gates
	case c.isTrain() && batch == len(c.Batches)-1:
		return []string{"all are handed back"}
	case batch == len(c.Batches)-1:
		return []string{"handed back"}
	}
	return []string{"at once"}
}
