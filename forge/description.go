package forge

import (
	"strings"
	"unicode"
)

// maxDescription is what GitHub takes, in characters, for a status or a deployment status.
const maxDescription = 140

// widestRune is the last that fits three bytes of UTF-8. GitHub refuses longer ones, emoji among
// them.
const widestRune = '\uffff'

const ellipsis = '…'

// Description makes text fit the description of a status: one line of at most 140 characters, cut
// after a word and ended by an ellipsis where it is longer, without characters that take four
// bytes.
func Description(text string) string {
	line := []rune(strings.Join(strings.FieldsFunc(strings.Map(storable, text), unicode.IsSpace), " "))
	if len(line) <= maxDescription {
		return string(line)
	}
	kept := line[:maxDescription-1]
	if !unicode.IsSpace(line[len(kept)]) {
		kept = withoutLastWord(kept)
	}
	return strings.TrimRightFunc(string(kept), endsBadly) + string(ellipsis)
}

// storable drops what the forge refuses, and turns what is not seen into space: control characters,
// and marks that turn the direction of writing.
func storable(r rune) rune {
	switch {
	case r > widestRune:
		return -1
	case !unicode.IsPrint(r):
		return ' '
	}
	return r
}

// withoutLastWord drops a word that was cut, unless there is no other.
func withoutLastWord(line []rune) []rune {
	for i := len(line) - 1; i > 0; i-- {
		if unicode.IsSpace(line[i]) {
			return line[:i]
		}
	}
	return line
}

// endsBadly reports what should not stand before an ellipsis.
func endsBadly(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:-…", r) }

// Link returns an address if it is that of a page that people can open, and nothing otherwise.
// Anybody who may post a status chooses where it points to.
func Link(address string) string {
	if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
		return address
	}
	return ""
}
