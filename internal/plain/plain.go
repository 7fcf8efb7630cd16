// Package plain makes text from outside printable: it neither controls a terminal, nor forges a
// line, nor commands a workflow.
//
//	file names, keys, messages ──► Line, Place, Lines ──► what the command prints
package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Line returns text as one line of visible characters. All others become a space, such as line
// breaks and marks that change the direction of writing.
func Line(text string) string {
	if isPlain(text) {
		return text
	}
	shown := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	return noCommand(strings.Join(strings.Fields(shown), " "))
}

// isPlain reports whether nothing is to be done about a text, as it mostly is.
func isPlain(text string) bool {
	last := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && last == ' ' || c == '#' && last == '#' {
			return false
		}
		last = c
	}
	return (text == "" || last != ' ') && !strings.HasPrefix(text, "::")
}

// command is how commands begin that runners look for anywhere in a line: ##[ for GitHub, ##vso[
// for Azure Pipelines, ##teamcity[ for TeamCity.
var command = regexp.MustCompile(`##([A-Za-z]*)\[`)

// noCommand keeps runners from taking a line for a command. GitHub's look for "::" as well, where
// it begins.
func noCommand(line string) string {
	line = command.ReplaceAllString(line, "## $1[")
	if rest, found := strings.CutPrefix(line, "::"); found {
		return ": :" + rest
	}
	return line
}

// Lines returns text of several lines, each made fit by itself.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		indent := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], " "))]
		lines[i] = indent + Line(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Place returns the name of a file, quoted if it has characters that can't be printed.
func Place(file string) string {
	if Line(file) == file {
		return file
	}
	return command.ReplaceAllString(strconv.Quote(file), `##$1\x5b`)
}

// WriteJSON writes a value for programs, escaped so that it is as harmless in a log as the result
// of Line. Decoding it returns the same value.
func WriteJSON(to io.Writer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	var shown strings.Builder
	for _, r := range command.ReplaceAllString(text.String(), `##$1\u005b`) { // "##" stands in texts only
		switch {
		case unicode.IsPrint(r) || r == '\n':
			shown.WriteRune(r)
		case r > '\uffff':
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&shown, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&shown, `\u%04x`, r)
		}
	}
	_, err := io.WriteString(to, shown.String())
	return err
}

// UpTo returns as much of a line as fits into so many bytes, with an ellipsis where there is more.
func UpTo(line string, size int) string {
	const more = "…"
	if len(line) <= size {
		return line
	}
	end := size - len(more)
	for end > 0 && !utf8.RuneStart(line[end]) {
		end--
	}
	return strings.TrimRight(line[:end], " ") + more
}
