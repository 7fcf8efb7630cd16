package plan

import "github.com/sluice-dev/sluice/internal/plain"

// maxText is how many runes of a text a status has room for. The API server takes 32,768 in a condition; one that is
// longer than people read quotes whole objects, or is a freeze file.
const maxText = 1000

// bounded is a text that fits into a status, and into a line that steers nothing where it is shown, whoever wrote it: all of
// them come by here.
func bounded(text string) string {
	text = plain.Line(text)
	if len(text) <= maxText {
		return text
	}
	count := 0
	for at := range text {
		if count++; count > maxText {
			return text[:at] + "…"
		}
	}
	return text
}

// boundTexts sees to it that the status can be written. A text that was cut before is cut at the same place again.
func (p *pass) boundTexts() {
	p.status.Message = bounded(p.status.Message)
	if p.stalled != nil {
		p.stalled.Message = bounded(p.stalled.Message)
	}
	if back := p.status.Rollback; back != nil && back.Message != bounded(back.Message) {
		p.status.Rollback = new(*back)
		p.status.Rollback.Message = bounded(back.Message)
	}
}
