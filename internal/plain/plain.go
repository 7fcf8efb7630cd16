// Package plain makes text from outside fit to be printed: what files, commits, pods and forges say must neither steer a
// terminal, nor look like another line of ours, nor be a command to the workflow whose log it ends up in.
//
//	file names, keys, messages ──► Line, Place, Lines ──► what the command prints
package plain

import (
	"strconv"
	"strings"
	"unicode"
)

// Line is text as one line of characters that are seen. What is not, line breaks and marks that turn the direction of
// writing among them, becomes a space.
func Line(text string) string {
	shown := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	return noCommand(strings.Join(strings.Fields(shown), " "))
}

// noCommand keeps GitHub's runners from taking a line for a workflow command: they look for "::" where it begins, and for
// "##[" anywhere.
func noCommand(line string) string {
	line = strings.ReplaceAll(line, "##[", "## [")
	if rest, found := strings.CutPrefix(line, "::"); found {
		return ": :" + rest
	}
	return line
}

// Lines is text of several lines, each made fit by itself.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		indent := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], " "))]
		lines[i] = indent + Line(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Place is the name of a file as it is where it can be printed, and quoted where it can't.
func Place(file string) string {
	if Line(file) == file {
		return file
	}
	return strings.ReplaceAll(strconv.Quote(file), "##[", `##\x5b`)
}
