package preview_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/internal/plain"
)

// evil is a name that steers a terminal, commands a workflow, calls people in, and is markup in a comment.
const evil = "@everyone [x](//evil.test)\n\n# Owned\n::error::y \x1b[2J\u202e##vso[a]"

// spans are what Markdown shows as it is.
var spans = regexp.MustCompile("`[^`\n]*`")

// wantHarmless wants what a repository says to be a text in a line, and no markup of a comment.
func wantHarmless(t *testing.T, shown *preview.Preview) {
	t.Helper()
	for _, format := range preview.Formats {
		var text strings.Builder
		if err := shown.Write(&text, format); err != nil {
			t.Fatalf("write: %v", err)
		}
		if !strings.Contains(text.String(), "@everyone") {
			t.Errorf("%s: want to be told what is there, got:\n%s", format, text.String())
		}
		rest := text.String()
		if format == plain.Markdown {
			rest = spans.ReplaceAllString(rest, "")
		}
		for line := range strings.SplitSeq(rest, "\n") {
			plainly := !strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) &&
				!strings.HasPrefix(strings.TrimSpace(line), "::") && !strings.Contains(line, "##vso[")
			if !plainly || format == plain.Markdown && strings.ContainsAny(line, "@[") || strings.HasPrefix(line, "# Owned") {
				t.Errorf("%s has the line %q", format, line)
			}
		}
	}
}

// TestHostileClaims: nobody checks the names of volume claim templates in Git before they are shown.
func TestHostileClaims(t *testing.T) {
	t.Parallel()
	before := kindOf("StatefulSet", "spec:\n  replicas", volumes("1Gi"))
	quoted := strings.NewReplacer("\n", `\n`, "\x1b", `\x1b`).Replace(evil)
	after := before.with(files{"web/set.yaml": strings.Replace(before["web/set.yaml"], "{name: data}", `{name: "`+quoted+`"}`, 1)})
	for name, tc := range map[string][2]files{"given": {before, after}, "taken away": {after, before}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, err := preview.Compare(at(t, "a", tc[0]), at(t, "b", tc[1]), nil)
			if err != nil {
				t.Fatalf("compare: %v", err)
			}
			wantHarmless(t, shown)
		})
	}
}
