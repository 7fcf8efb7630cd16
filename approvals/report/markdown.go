package report

import (
	"regexp"
	"strings"

	"github.com/sluice-dev/sluice/internal/plain"
)

// maxValue is how much is shown of a value that others chose, in characters.
const maxValue = 200

// Code shows a value as text and nothing else, in a line or in the cell of a table: in a span of
// code a forge sees no markup, no HTML, no link and no mention. Code replaces the characters that
// could end the span or the cell: Markdown readers disagree on backslashes, so it escapes none.
func Code(value string) string { return CodeUpTo(value, maxValue) }

// CodeUpTo returns Code for a value that may be longer.
func CodeUpTo(value string, longest int) string {
	value = plainUpTo(value, longest)
	if value == "" {
		return "-"
	}
	return "`" + value + "`"
}

// clean returns a value as one line without what ends a span of code or a cell.
func clean(value string) string { return plainUpTo(value, maxValue) }

func plainUpTo(value string, longest int) string {
	line := []rune(plain.Line(strings.Map(harmless, value)))
	if len(line) > longest {
		line = append(line[:longest-1], '…')
	}
	return string(line)
}

// harmless replaces what ends a span of code or a cell.
func harmless(r rune) rune {
	switch r {
	case '`':
		return '\''
	case '|':
		return '¦'
	}
	return r
}

// codes shows a list of values.
func codes(values []string) string {
	shown := make([]string, 0, len(values))
	for _, value := range values {
		shown = append(shown, Code(value))
	}
	return strings.Join(shown, ", ")
}

var fullSHA = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// commit shows a commit so that the forge links it, if it is one.
func commit(sha string) string {
	if fullSHA.MatchString(sha) {
		return sha
	}
	return Code(sha)
}

var noWord = regexp.MustCompile(`[^A-Za-z0-9._/-]`)

// noImage is what the last part of an image's name does not have. A digest stands behind a dash:
// nobody is called for by "@".
var noImage = regexp.MustCompile(`[^A-Za-z0-9._:-]`)

// word returns a name for a line that is no Markdown. Names of objects and hashes stay as they are.
func word(name string) string { return noWord.ReplaceAllString(name, "-") }
