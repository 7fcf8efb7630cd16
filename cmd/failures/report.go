package main

import (
	"fmt"
	"regexp"
	"strings"
)

// How much is said: what a person takes in, and what fits where only some sixty lines are shown.
const (
	mostLines   = 40  // of all messages
	mostOfTest  = 12  // of those of one test
	leastOfTest = 2   // of those of each of very many
	mostTests   = 40  // that have more than their number told
	mostOfOne   = 4   // lines of one message
	mostOfCrash = 10  // lines of a panic, or a race
	longest     = 300 // bytes of a line
	// logFrom is how many lines make a message a log: tests show logs when they fail, with t.Log, which looks
	// just as t.Error does. Its first line says whose it is.
	logFrom = 40
	// lastOfOutput is how many lines are shown of an output that has no message.
	lastOfOutput = 5
)

var (
	message = regexp.MustCompile(`^\s*\S+\.go:\d+: `)
	crash   = regexp.MustCompile(`(?m)^\s*(panic: |fatal error: |WARNING: DATA RACE|\*\*\* Test killed)`)
	framing = regexp.MustCompile(`^\s*(=== |--- |FAIL|exit status |ok\s)`)
)

// report is a line for each test, with the lines that say why it failed below.
func report(tests []*test) []string {
	budget := mostOfTest
	if len(tests) > 0 {
		budget = min(mostOfTest, max(leastOfTest, mostLines/len(tests)))
	}
	var lines []string
	for i, t := range tests {
		if i == mostTests {
			return append(lines, fmt.Sprintf("and %d more", len(tests)-i))
		}
		lines = append(lines, strings.TrimSpace("FAIL "+t.pkg+" "+t.name))
		why := reasons(t.output.String())
		for _, line := range why[:min(budget, len(why))] {
			lines = append(lines, "    "+cut(line))
		}
	}
	return lines
}

// reasons are the beginnings of the messages in an output, or its end if there are none.
func reasons(output string) []string {
	var lines, said []string
	for line := range strings.Lines(output) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" && !framing.MatchString(line) {
			said = append(said, line)
		}
	}
	for rest := said; len(rest) > 0; {
		n := extent(rest)
		lines = append(lines, beginning(rest[:n])...)
		rest = rest[n:]
	}
	if len(lines) == 0 {
		return said[max(0, len(said)-lastOfOutput):]
	}
	return lines
}

// extent is the number of lines up to where the next message begins.
func extent(lines []string) int {
	for i, line := range lines {
		if i > 0 && (message.MatchString(line) || crash.MatchString(line)) {
			return i
		}
	}
	return len(lines)
}

// beginning is what is shown of one message, and nothing of what is none.
func beginning(lines []string) []string {
	most := 0
	switch {
	case crash.MatchString(lines[0]):
		most = mostOfCrash
	case message.MatchString(lines[0]) && len(lines) < logFrom:
		most = mostOfOne
	case message.MatchString(lines[0]):
		most = 1
	}
	return lines[:min(most, len(lines))]
}

// cut shortens a line.
func cut(line string) string {
	line = strings.TrimPrefix(line, "    ") // that of go test
	if len(line) <= longest {
		return line
	}
	return strings.ToValidUTF8(line[:longest], "") + "…"
}
