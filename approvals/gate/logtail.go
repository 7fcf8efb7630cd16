package gate

import (
	"regexp"
	"strings"

	"github.com/sluice-dev/sluice/internal/plain"
)

const (
	maxTailLines = 10
	// maxTail limits the end of a log in a message, in bytes, so that the message fits.
	maxTail = 600
)

// escape matches what steers a terminal.
var escape = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)

// LogTail returns the end of a log on one line: at most its last ten lines, those first that are
// last, without anything that can't be printed.
func LogTail(log []byte) string {
	lines := strings.Split(strings.ToValidUTF8(string(log), "�"), "\n")
	tail := ""
	for i, kept := len(lines)-1, 0; i >= 0 && kept < maxTailLines; i-- {
		line := strings.Join(strings.Fields(plain.Line(escape.ReplaceAllString(lines[i], ""))), " ")
		if line == "" {
			continue
		}
		switch {
		case tail == "":
			tail = plain.UpTo(line, maxTail)
		case len(line)+len(tail)+len(lineBreak) > maxTail:
			return tail
		default:
			tail = line + lineBreak + tail
		}
		kept++
	}
	return tail
}

// lineBreak stands between two lines of a log.
const lineBreak = " / "
