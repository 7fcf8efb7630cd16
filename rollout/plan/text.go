package plan

import "github.com/sluice-dev/sluice/internal/plain"

// maxText limits the runes of a text in a status. The API server takes 32,768 in a condition; a
// text that is longer than people read quotes whole objects, or is a freeze file.
const maxText = 1000

// bounded shortens a text for a status, and removes what would steer a terminal. All texts of
// others pass through here.
func bounded(text string) string { return boundedTo(text, maxText) }

// boundedTo returns bounded for another number of runes, beside the sign of an omission.
func boundedTo(text string, most int) string {
	text = plain.Line(text[:min(len(text), 8*most)]) // an admission webhook may answer megabytes
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
