package simulate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sluice-dev/sluice/internal/plain"
)

// Formats are those of a timeline. Text is a table.
var Formats = []plain.Format{plain.Text, plain.JSON}

// Write writes the timeline.
func (t *Timeline) Write(to io.Writer, format plain.Format) error {
	return plain.Write(to, format, t, map[plain.Format]func() string{plain.Text: t.text})
}

func (t *Timeline) text() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	shared := slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Requests != "" })
	requests := func(text string) string {
		if !shared {
			return ""
		}
		return dash(text) + "\t"
	}
	trains := slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Release != "" })
	release := func(name string) string {
		if !trains {
			return ""
		}
		return name + "\t"
	}
	fmt.Fprintf(table, "TIME\t%sPODS\tOLD\tNEW\tAVAILABLE\t%sBATCH\tSTATUS\tWHAT\n", release("RELEASE"), requests("REQUESTS"))
	phases := map[string]string{}
	for i := range t.Rows {
		row := &t.Rows[i]
		fmt.Fprintf(table, "%s\t%s%d\t%d\t%d\t%d\t%s%s\t%s\t%s\n",
			row.At, release(row.Release), row.Replicas, row.Old, row.New, row.Available, requests(row.Requests), dash(row.Batch), dash(row.Status), plain.Line(row.words(phases[row.Release])))
		phases[row.Release] = row.Phase
	}
	table.Flush()
	for _, note := range t.Notes {
		fmt.Fprintf(&text, "note: %s\n", plain.Line(note))
	}
	for _, unmet := range t.Unmet {
		fmt.Fprintf(&text, "not as expected %s\n", plain.Line(unmet))
	}
	for _, broken := range t.Broken {
		fmt.Fprintf(&text, "a promise was broken, which is a bug of Sluice: %s\n", broken)
	}
	return text.String()
}

// words returns the event of a row, its actions with the reason of a new phase, or the state.
func (row *Row) words(before string) string {
	done := strings.Join(row.Done, "; ")
	switch {
	case row.Event != "":
		return "> " + row.Event
	case done != "" && row.Phase != before && row.Why != "":
		return done + " (" + row.Why + ")"
	case done != "":
		return done
	}
	return row.Why
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Err says so if something was not as expected.
func (t *Timeline) Err() error {
	switch {
	case len(t.Broken) > 0:
		return fmt.Errorf("%d promises were broken", len(t.Broken))
	case len(t.Unmet) > 0:
		return fmt.Errorf("%d of what the trace expects did not come true", len(t.Unmet))
	}
	return nil
}
