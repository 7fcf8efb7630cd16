package preview_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/internal/plain"
)

// evil is a name that steers a terminal, commands a workflow, calls people in, and is markup in a
// comment.
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

// TestHostileClaims: names of volume claim templates in Git are shown before any check of them.
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

// TestHostileMatches: every match that the manifest's rules accept is shown as a value, in its
// line and its span.
func TestHostileMatches(t *testing.T) {
	t.Parallel()
	// What is left of evil without the characters that the API server refuses.
	value := strings.NewReplacer("\n", "", "\x1b", "").Replace(evil) + "` | `\" and path prefix \"/"
	header := fmt.Sprintf("{name: \"x`|*\", value: %s}", strconv.Quote(value))
	for name, match := range map[string]string{
		"header":     "headers: [" + header + "]",
		"expression": "queryParams: [" + strings.Replace(header, "name:", "type: RegularExpression, name:", 1) + "]",
		"path":       "path: {type: RegularExpression, value: " + strconv.Quote(value) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, _ := withTraffic()
			next := base.with(files{"web/release.yaml": strings.NewReplacer(grpcRoute, "", `headers: [{name: X-Canary, value: "yes"}]`, match).Replace(shared)})
			for _, before := range []files{base, {}} {
				shown, err := preview.Compare(at(t, "a", before), at(t, "b", next), nil)
				if err != nil || len(shown.Errors) > 0 {
					t.Fatalf("compare: %v, %q", err, shown.Errors)
				}
				wantHarmless(t, shown)
			}
		})
	}
}

// maxComment is what GitHub takes.
const maxComment = 65_536

// TestNothingIsDrowned: a release that is told at great length, many releases, many errors: the
// comment is small enough to be posted, and names the release that somebody wants to be overlooked.
func TestNothingIsDrowned(t *testing.T) {
	t.Parallel()
	base := files{"web/deployment.yaml": deployment, "web/release.yaml": release}
	next := base.with(files{"web/deployment.yaml": strings.Replace(deployment, "1.28", "1.29", 1)})
	long, broken, many := base.with(next), base.with(next), base.with(next)
	long["a.yaml"] = named("aaa", variables("v2", 3_000), release)
	broken["a.yaml"] = strings.Repeat("---\napiVersion: apps/v1\nkind: Deployment\n", 1_900)
	for i := range 700 {
		name := fmt.Sprintf("a%s%d", strings.Repeat("a", 30), i)
		many["apps/"+name+".yaml"] = named(name, deployment, release)
	}
	steps := "    steps:\n"
	for i := range 50 {
		gates := strings.Repeat("      - commitStatus: {context: "+strings.Repeat("c", 200)+", creators: [ci]}\n", 10)
		steps += fmt.Sprintf("    - replicas: %d%%\n      gates:\n%s", (i+1)*2, gates)
	}
	before, _, _ := strings.Cut(release, "    steps:")
	steps = before + steps
	gated := base.with(next).with(files{"a.yaml": named("aaa", deployment, steps)})
	for name, tc := range map[string]struct {
		before, after files
		want          []string
	}{
		"fields": {base.with(files{"a.yaml": named("aaa", variables("v1", 1), release)}), long, []string{"`shop/web` is released", "nginx:1.29", "2970 more"}},
		"errors": {base, broken, []string{"`shop/web` is released", "nginx:1.29", "1870 more"}},
		"gates":  {base.with(files{"a.yaml": named("aaa", strings.Replace(deployment, "1.28", "1.27", 1), steps)}), gated, []string{"`shop/aaa` is released", "`shop/web` is released", "nginx:1.29"}},
		"many":   {base, many, []string{"`shop/web` is released", "nginx:1.29", "more than fits"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, err := preview.Compare(at(t, "a", tc.before), at(t, "b", tc.after), nil)
			if err != nil {
				t.Fatalf("compare: %v", err)
			}
			var text strings.Builder
			if err := shown.Write(&text, plain.Markdown); err != nil {
				t.Fatalf("write: %v", err)
			}
			if text.Len() > maxComment {
				t.Errorf("want a comment of at most %d bytes, got %d", maxComment, text.Len())
			}
			for _, want := range tc.want {
				if !strings.Contains(text.String(), want) {
					t.Errorf("want %q in a comment of %d bytes that begins with\n%.2000s", want, text.Len(), text.String())
				}
			}
		})
	}
}

// named returns the sample by another name.
func named(name string, deployment, release string) string {
	rename := strings.NewReplacer("name: web,", "name: "+name+",", "name: web}", "name: "+name+"}").Replace
	return rename(deployment) + "---\n" + rename(release)
}

// variables returns a Deployment with environment variables of a value.
func variables(value string, count int) string {
	var all strings.Builder
	for i := range count {
		fmt.Fprintf(&all, "{name: V%d, value: %s}, ", i, value)
	}
	return strings.Replace(deployment, "env: [", "env: ["+all.String(), 1)
}

// TestNumbers: numbers of pods are counted without overflow, and never below zero.
func TestNumbers(t *testing.T) {
	t.Parallel()
	great := strings.NewReplacer("replicas: 10", "replicas: 2147483647\n  strategy: {rollingUpdate: {maxSurge: 2147483647, maxUnavailable: 2147483647}}", "1.28", "1.29")
	none := strings.NewReplacer("replicas: 10", "replicas: 0\n  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 5}}", "1.28", "1.29")
	base := files{"web/deployment.yaml": deployment, "web/release.yaml": release}
	for name, tc := range map[string]struct {
		size *strings.Replacer
		want string
	}{
		"greatest": {great, "At most 4294967294 pods, at least 0 available."},
		"none":     {none, "At most 0 pods, at least 0 available."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, err := preview.Compare(at(t, "a", base), at(t, "b", base.with(files{"web/deployment.yaml": tc.size.Replace(deployment)})), nil)
			if err != nil {
				t.Fatalf("compare: %v", err)
			}
			var text strings.Builder
			if err := shown.Write(&text, plain.Text); err != nil {
				t.Fatalf("write: %v", err)
			}
			if !strings.Contains(text.String(), tc.want) {
				t.Errorf("want %q in:\n%s", tc.want, text.String())
			}
		})
	}
}
