package plain

import (
	"strings"
	"testing"
	"unicode"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"web: nginx 1.28":               "web: nginx 1.28",
		"two\nlines\tand \x1b[2Jmore":   "two lines and [2Jmore",
		"a\u202eb\u2066c\u200bd\ufeffe": "a b c d e",
		"no \xff UTF-8":                 "no UTF-8",
		"  ::error file=x::y":           ": :error file=x::y",
		"x ##[set-env name=y]z":         "x ## [set-env name=y]z",
		"Grüße, 世界":                     "Grüße, 世界",
	} {
		if got := Line(text); got != want {
			t.Errorf("%q: want %q, got %q", text, want, got)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"apps/web.yaml":               "apps/web.yaml",
		"a\n::error::b.yaml":          `"a\n::error::b.yaml"`,
		"::set-output name=x::y.yaml": `"::set-output name=x::y.yaml"`,
		"\x1b]0;title\x07.yaml":       `"\x1b]0;title\a.yaml"`,
		"##[command]rm.yaml":          `"##\x5bcommand]rm.yaml"`,
		"r\u202elmay.yaml":            `"r\u202elmay.yaml"`,
	} {
		if got := Place(file); got != want {
			t.Errorf("%q: want %s, got %s", file, want, got)
		}
	}
}

// FuzzPrinted: whatever is printed stays on its line, shows all that it has, and commands nobody.
func FuzzPrinted(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "::error::x", "\x1b[31m", "##[##[", "\u202e", "\xff\xfe", " ::x", "\n::x\n ##[y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		printed := append(strings.Split(Lines(text), "\n"), Line(text), Place(text))
		for _, line := range printed {
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q: %q holds what is not seen", text, line)
			}
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				t.Errorf("%q: %q is a workflow command", text, line)
			}
		}
	})
}
