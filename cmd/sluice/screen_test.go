package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// terminal shows what is written to it as one does: of what steers it, it knows what a screen uses.
type terminal struct {
	bytes.Buffer
}

// lines returns the visible lines.
func (w *terminal) lines() []string {
	shown, at := []string{""}, 0
	for text := w.String(); text != ""; {
		before, after, found := strings.Cut(text, "\x1b[")
		for i, part := range strings.Split(strings.ReplaceAll(before, "\r", ""), "\n") {
			if at += min(i, 1); at == len(shown) {
				shown = append(shown, "")
			}
			shown[at] += part
		}
		if text = after; !found {
			break
		}
		end := strings.IndexAny(text, "AJ")
		if text[end] == 'J' {
			shown = append(shown[:at], "")
		} else if up, err := strconv.Atoi(text[:end]); err == nil {
			at -= up
		}
		text = text[end+1:]
	}
	return shown[:len(shown)-1]
}

// TestScreen: on a terminal each frame replaces the one before, and none is larger than the
// terminal, because wrapped or scrolled lines can't be replaced.
func TestScreen(t *testing.T) {
	t.Parallel()
	out := &terminal{}
	s := &screen{out: out, size: func() (int, int, error) { return 12, 4, nil }}
	frames := []struct {
		reason      string
		lines, want []string
	}{
		{"the first", []string{"release", "├─ batch 1", "└─ batch 2"}, []string{"release", "├─ batch 1", "└─ batch 2"}},
		{"a smaller one leaves nothing behind", []string{"release"}, []string{"release"}},
		{"one too high is cut off", []string{"release", "a", "b", "c", "d"}, []string{"release", "a", "... 3 more lines"[:12]}},
		{"and one too wide", []string{"release of far too much"}, []string{"release of f"}},
	}
	for _, frame := range frames {
		if err := s.draw(frame.lines); err != nil {
			t.Fatalf("draw %s: %v", frame.reason, err)
		}
		if diff := cmp.Diff(frame.want, out.lines()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", frame.reason, diff)
		}
	}
}
