package plain

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"web: nginx 1.28":                       "web: nginx 1.28",
		"two\nlines\tand \x1b[2Jmore":           "two lines and [2Jmore",
		"a\u202eb\u2066c\u200bd\ufeffe":         "a b c d e",
		"no \xff UTF-8":                         "no UTF-8",
		"  ::error file=x::y":                   ": :error file=x::y",
		"x ##[set-env name=y]z":                 "x ## [set-env name=y]z",
		"x ##vso[task.setvariable variable=y]z": "x ## vso[task.setvariable variable=y]z",
		"###TeamCity[buildStop]":                "### TeamCity[buildStop]",
		"a\u009b2Jb":                            "a 2Jb",
		"## heading [x]":                        "## heading [x]",
		"Grüße, 世界":                             "Grüße, 世界",
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
		"##vso[task.x]y.yaml":         `"##vso\x5btask.x]y.yaml"`,
		"r\u202elmay.yaml":            `"r\u202elmay.yaml"`,
	} {
		if got := Place(file); got != want {
			t.Errorf("%q: want %s, got %s", file, want, got)
		}
	}
}

// FuzzPrinted: any printed text stays on its line, is complete, and steers no terminal.
func FuzzPrinted(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "::error::x", "\x1b[31m", "##[##[", "\u202e", "\xff\xfe", " ::x", "\n::x\n ##[y", "##vso[a]", "###a##b[", "\u009b", "a  b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		printed := append(strings.Split(Lines(text), "\n"), Line(text), Place(text))
		var json strings.Builder
		if err := WriteJSON(&json, text); err != nil {
			t.Fatal(err)
		}
		wantRead(t, text, json.String())
		printed = append(printed, strings.Split(strings.TrimSuffix(json.String(), "\n"), "\n")...)
		for _, line := range printed {
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q: %q holds what is not seen", text, line)
			}
			if strings.HasPrefix(strings.TrimSpace(line), "::") || command.MatchString(line) {
				t.Errorf("%q: %q is a workflow command", text, line)
			}
		}
	})
}

// wantRead wants a value read from JSON as it is.
func wantRead(t *testing.T, text, encoded string) {
	t.Helper()
	var read string
	if err := json.Unmarshal([]byte(encoded), &read); err != nil || read != strings.ToValidUTF8(text, "\uFFFD") && utf8.ValidString(text) {
		t.Errorf("%q is read as %q: %v", text, read, err)
	}
}

func TestUpTo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "12345678": "12345678", "123456789": "12345…", "1234éé": "1234éé", "1234ééx": "1234…", "123 45678": "123 4…", "1234 5678": "1234…", "\x80\x80\x80\x80\x80\x80\x80\x80\x80": "…"} {
		if got := UpTo(text, 8); got != want {
			t.Errorf("%q: want %q, got %q", text, want, got)
		}
	}
}
