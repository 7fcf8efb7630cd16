package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlainScreenHasNoPanelAndNoColours(t *testing.T) {
	t.Parallel()
	out, read := captured(t)
	s := newScreen(out, true, func() {})
	s.chapter("A heading")
	s.show([]string{"a panel"})
	s.say("a line of %d", 1)
	s.close()

	want := "\nA heading\n   0.0s  a line of 1\n"
	if diff := cmp.Diff(want, regexp.MustCompile(`\d\.\ds`).ReplaceAllString(read(), "0.0s")); diff != "" {
		t.Errorf("plain output is lines and nothing else (-want +got):\n%s", diff)
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	t.Parallel()
	out, _ := captured(t)
	if newScreen(out, false, func() {}).live {
		t.Error("output that is no terminal must be plain without being asked")
	}
}

func TestLivePanelStaysBelowTheLines(t *testing.T) {
	t.Parallel()
	out, read := captured(t)
	s := newScreen(out, true, func() {})
	s.live = true
	s.show([]string{"one", "two"})
	s.print("a line\n")
	s.close()

	panel := hideCursor + cutLines + "one\ntwo\n" + wrapLines + showCursor
	back := "\x1b[2A\r" + clearBelow
	want := panel + back + "a line\n" + panel + back + wrapLines + showCursor
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("a line goes above the panel, which is drawn again and in the end taken away (-want +got):\n%s", diff)
	}
}

// captured is a file to write to, and what was written to it.
func captured(t *testing.T) (*os.File, func() string) {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return out, func() string {
		data, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(data), "\r\n", "\n")
	}
}
