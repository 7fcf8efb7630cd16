package plan

import "github.com/sluice-dev/sluice/internal/plain"

// maxText is how many runes of a text a status has room for. The API server takes 32,768 in a condition; one that is
// longer than people read quotes whole objects, or is a freeze file.
const maxText = 1000

// bounded is a text that fits into a status, and into a line that steers nothing where it is shown, whoever wrote it: all of
// them come by here.
func bounded(text string) string { return boundedTo(text, maxText) }

// boundedTo is bounded for another number of runes, beside the sign that says that something is left out.
func boundedTo(text string, most int) string {
	text = plain.Line(text)
	if len(text) <= most {
		return text
	}
	count := 0
	for at := range text {
		if count++; count > most {
			return text[:at] + "…"
		}
	}
	return text
}
