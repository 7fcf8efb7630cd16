package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/sluice-dev/sluice/cli/show"
)

// screen shows a changing tree: redrawn in place on a terminal, a line for each change elsewhere.
type screen struct {
	out     io.Writer
	colours bool

	// size are the columns and lines of the terminal; nil if it is none.
	size  func() (width, height int, err error)
	drawn int        // lines, on the terminal
	last  *show.Node // shown, elsewhere
}

func newScreen(out io.Writer, noColor bool) *screen {
	s := &screen{out: out}
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.size = func() (int, int, error) { return term.GetSize(int(file.Fd())) }
	s.colours = !noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

// show shows what a tree has become.
func (s *screen) show(tree show.Node, now time.Time) error {
	if s.size == nil {
		lines := show.Changes(s.last, tree)
		s.last = &tree
		return s.tell(lines, now)
	}
	return s.draw(show.Draw(tree, now, s.colours))
}

func (s *screen) tell(lines []string, now time.Time) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(s.out, now.Format(time.TimeOnly)+" "+line); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// draw replaces the lines that were drawn before. It cuts lines to the size of the terminal, as it
// can't replace lines that wrap or scroll away.
func (s *screen) draw(lines []string) error {
	width, height, err := s.size()
	if err != nil {
		return fmt.Errorf("find size of terminal: %w", err)
	}
	if room := max(height-1, 1); len(lines) > room {
		lines = append(lines[:room-1:room-1], fmt.Sprintf("... %d more lines", len(lines)-room+1))
	}
	var frame strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&frame, "\x1b[%dA", s.drawn)
	}
	frame.WriteString("\r\x1b[J")
	for _, line := range lines {
		frame.WriteString(show.Cut(line, width) + "\n")
	}
	s.drawn = len(lines)
	if _, err := io.WriteString(s.out, frame.String()); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}
