package v1alpha1

import (
	"testing"
	"time"
)

// TestCommitTimeIsBounded: Anybody can claim any time of a commit, and write any text into an
// annotation.
func TestCommitTimeIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 500, time.UTC)
	for text, want := range map[string]string{
		"2026-03-01T11:00:00Z":        "2026-03-01T11:00:00Z",
		"2026-03-01T13:00:00+02:00":   "2026-03-01T11:00:00Z",
		"2026-03-01T11:00:00.999Z":    "2026-03-01T11:00:00Z",
		"2026-03-01T12:00:01Z":        "2026-03-01T12:00:00Z", // a clock that is ahead
		"9999-12-31T23:59:59Z":        "2026-03-01T12:00:00Z",
		"1970-01-01T00:00:00Z":        "",
		"0001-01-01T00:00:00Z":        "",
		"":                            "",
		"yesterday":                   "",
		"99999999999-01-01T00:00:00Z": "",
		"2026-03-01T11:00:00Z;drop":   "",
	} {
		got := ""
		if at := ParseCommitTime(text, now); at != nil {
			got = at.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("ParseCommitTime(%q): got %q, want %q", text, got, want)
		}
	}
}
