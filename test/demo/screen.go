package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// screen prints the story line by line. On a terminal it also keeps a panel below the last
// line, which is drawn again in place.
type screen struct {
	out    io.Writer
	unread func()
	live   bool
	start  time.Time

	mu    sync.Mutex
	panel []string
}

// The control sequences that a panel takes. Lines are cut at the right margin while it is
// drawn: a line that wrapped would spoil the way back up.
const (
	hideCursor, showCursor = "\x1b[?25l", "\x1b[?25h"
	cutLines, wrapLines    = "\x1b[?7l", "\x1b[?7h"
	clearBelow             = "\x1b[J"
)

// newScreen returns a screen with a panel if out is a terminal that can show one and plain is
// false. It calls unread when a write fails, because the reader of the output is gone.
func newScreen(out *os.File, plain bool, unread func()) *screen {
	live := !plain && term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
	return &screen{out: out, unread: unread, live: live, start: time.Now()}
}

// say prints a line with the time since the start before it.
func (s *screen) say(format string, args ...any) {
	s.print(s.dim(fmt.Sprintf("%6.1fs ", time.Since(s.start).Seconds())) + " " + fmt.Sprintf(format, args...) + "\n")
}

// chapter prints a heading.
func (s *screen) chapter(heading string) {
	s.print("\n" + s.style("1", heading) + "\n")
}

// print writes text above the panel.
func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(s.rewind() + text + s.drawn())
}

// progress takes lines that are of interest only until the next one comes: the panel shows the
// latest, and output that is no terminal gets them all.
func (s *screen) progress() io.Writer { return progressWriter{s} }

type progressWriter struct{ screen *screen }

func (w progressWriter) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		line = strings.TrimSuffix(line, "\n")
		if w.screen.live {
			w.screen.show([]string{"  " + line})
		} else {
			w.screen.say("%s", line)
		}
	}
	return len(p), nil
}

// show replaces the panel; with no terminal there is none.
func (s *screen) show(panel []string) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	up := s.rewind()
	s.panel = panel
	s.write(up + s.drawn())
}

// close takes the panel away and leaves the terminal as it was.
func (s *screen) close() {
	if !s.live {
		return
	}
	s.show(nil)
	s.write(wrapLines + showCursor)
}

func (s *screen) write(text string) {
	if _, err := io.WriteString(s.out, text); err != nil {
		s.unread()
	}
}

// rewind goes back to the first line of the panel and clears what is below.
func (s *screen) rewind() string {
	if len(s.panel) == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r", len(s.panel)) + clearBelow
}

func (s *screen) drawn() string {
	if len(s.panel) == 0 {
		return ""
	}
	return hideCursor + cutLines + strings.Join(s.panel, "\n") + "\n" + wrapLines + showCursor
}

func (s *screen) dim(text string) string { return s.style("2", text) }

// style colours text on a terminal, unless its user wants none (https://no-color.org).
func (s *screen) style(code, text string) string {
	if !s.live || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
