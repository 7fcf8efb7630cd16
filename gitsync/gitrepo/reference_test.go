package gitrepo

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReferences: trailers of the source hydrator of Argo CD are read as it writes them, and what
// strangers write in their place is no more than short text.
func TestReferences(t *testing.T) {
	t.Parallel()
	const p = "Argocd-reference-commit-"
	long := strings.Repeat("x", 100_000)
	whole := "Bump image\n\nText.\n\n" + p + "author: Ada Lovelace <ada@example.com>\n" + p + "sha: b82add298aa045d3672880802d5305c5a8aaa46e\n" +
		p + "subject: chore: make a change\n" + p + "body: \"make a change\\n\"\n" + p + "repourl: https://git.example.com/owner/repo\n" + p + "date: 2025-06-09T13:50:18-04:00\n"
	at := time.Date(2025, time.June, 9, 17, 50, 18, 0, time.UTC)
	cases := map[string]struct {
		message string
		want    *Reference
	}{
		"whole":         {whole, &Reference{"b82add298aa045d3672880802d5305c5a8aaa46e", "Ada Lovelace", "chore: make a change", at}},
		"Windows":       {strings.ReplaceAll(whole, "\n", "\r\n"), &Reference{"b82add298aa045d3672880802d5305c5a8aaa46e", "Ada Lovelace", "chore: make a change", at}},
		"other case":    {"x\n\nargocd-reference-commit-SHA: ABC12\n", &Reference{Commit: "abc12"}},
		"last one":      {"x\n\n" + p + "sha: abc12\n" + p + "sha: abc34\n", &Reference{Commit: "abc34"}},
		"with others":   {"x\n\nSigned-off-by: Ada <a@b.c>\n" + p + "sha: abc12\n", &Reference{Commit: "abc12"}},
		"none":          {"x\n\ny\n", nil},
		"no trailers":   {p + "sha: abc12\n", nil},
		"in the text":   {"x\n\n" + p + "sha: abc12\n\nmore\n", nil},
		"no hash":       {"x\n\n" + p + "sha: main\n", nil},
		"too short":     {"x\n\n" + p + "sha: abc\n", nil},
		"path":          {"x\n\n" + p + "sha: ../../abc12\n", nil},
		"without a sha": {"x\n\n" + p + "author: Ada <a@b.c>\n", nil},
		"no author":     {"x\n\n" + p + "sha: abc12\n" + p + "author: nobody\n" + p + "date: yesterday\n", &Reference{Commit: "abc12"}},
		"hidden":        {"x\n\n" + p + "sha: abc12\n" + p + "subject: a\u202eb\x1b[31m\n", &Reference{Commit: "abc12", Subject: "ab[31m"}},
		"long":          {long + "\n\n" + p + "sha: abc12\n" + p + "subject: " + long[:10_000] + "\n", &Reference{Commit: "abc12", Subject: long[:199] + "…"}},
		"too long":      {"x\n\n" + p + "sha: abc12\n" + p + "subject: " + long + "\n", nil},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := referenceOf(tt.message, "UTF-8")
			if got != nil {
				got.Time = got.Time.UTC()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
