package github

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/dialer"
)

// move returns an entry of the list of moves: the branch went from one commit to another.
func move(from, to, kind, actor string) string {
	return fmt.Sprintf(`{"ref":"refs/heads/change","before":%q,"after":%q,"activity_type":%q,"timestamp":"2026-01-01T00:00:00Z","actor":{"id":%d,"login":%q,"type":"User"}}`,
		from, to, kind, len(actor), actor)
}

const zero = "0000000000000000000000000000000000000000"

// TestMoves: moves are read page by page until the branch was created. A gap, a list that ends
// earlier, or one that does not end leaves it open who moved the branch.
func TestMoves(t *testing.T) {
	t.Parallel()
	pushes := func(from, to int) (listed []string) {
		for i := from; i > to; i-- {
			listed = append(listed, move(strconv.Itoa(i-1), strconv.Itoa(i), "push", "ada"))
		}
		return listed
	}
	long := append(pushes(250, 1), move(zero, "1", "branch_creation", "eve"))
	gap := append(pushes(250, 200), append(pushes(150, 1), move(zero, "1", "branch_creation", "eve"))...)
	tests := map[string]struct {
		reason           string
		listed           []string
		enough           int
		pushes, requests int
		whole, cut       bool
	}{
		"Short":   {"a branch from its creation", long[249:], 1000, 1, 1, true, false},
		"Pages":   {"three pages", long, 1000, 250, 3, true, false},
		"Enough":  {"no more than it takes", long, 150, 200, 2, false, false},
		"Old":     {"a branch that is older than the list", pushes(150, 1), 1000, 149, 2, false, false},
		"Gap":     {"what is before a gap says nothing", gap, 1000, 50, 1, false, false},
		"Cut":     {"a branch that moved very often", append(pushes(400, 1), move(zero, "1", "branch_creation", "eve")), 1000, 300, 3, false, true},
		"Nothing": {"a branch that is in no list", nil, 1000, 0, 1, false, false},
		"MadeAgain": {"a deleted branch and the next of its name", []string{
			move(zero, "7", "branch_creation", "ada"), move("9", zero, "branch_deletion", "eve"), move("1", "9", "push", "eve"), move(zero, "1", "branch_creation", "ada"),
		}, 1000, 4, 1, true, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				query := r.URL.Query()
				from, _ := strconv.Atoi(query.Get("after"))
				size, _ := strconv.Atoi(query.Get("per_page"))
				to := min(from+size, len(tc.listed))
				if to < len(tc.listed) {
					w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?after=%d>; rel="next"`, r.Host, r.URL.Path, to))
				}
				fmt.Fprintf(w, "[%s]", strings.Join(tc.listed[from:to], ","))
			}))
			t.Cleanup(server.Close)
			client, err := New(Options{
				BaseURL: server.URL, Owner: "shop", Repository: "web", Token: "ghp_ours",
				AllowHTTP: true, Networks: dialer.Rules{Allowed: dialer.Loopback()},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.moves(t.Context(), "change", func(found []forge.Push) bool { return len(found) >= tc.enough })
			if err != nil {
				t.Fatal(err)
			}
			if len(got.pushes) != tc.pushes || requests != tc.requests || got.whole != tc.whole || got.cut != tc.cut || !got.told {
				t.Errorf("%s: got %d moves by %d requests, whole %t, cut %t; want %d, %d, %t, %t",
					tc.reason, len(got.pushes), requests, got.whole, got.cut, tc.pushes, tc.requests, tc.whole, tc.cut)
			}
		})
	}
}

// TestMovesOfAProposal: a proposal counts the moves of its branch that led to the merged head: all
// of them, or the moves since an earlier merge if they brought all commits.
func TestMovesOfAProposal(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	// The branch has A when it is merged at minute 3, then eve adds E and drops it, ada adds B, and
	// somebody C after the merge.
	pushes := []forge.Push{
		{Before: "B", After: "C", Kind: forge.PushPlain, At: at(9)},
		{Before: "A", After: "B", Kind: forge.PushPlain, At: at(6)},
		{Before: "E", After: "A", Kind: forge.PushForced, At: at(5)},
		{Before: "A", After: "E", Kind: forge.PushPlain, At: at(4)},
		{Before: "M", After: "A", Kind: forge.PushPlain, At: at(2)},
		{Before: zero, After: "M", Kind: forge.PushCreated, At: at(1)},
	}
	line := func(shas ...string) (commits []forge.Commit) {
		for i, sha := range shas[:len(shas)-1] {
			commits = append(commits, forge.Commit{SHA: sha, Parents: []string{shas[i+1]}})
		}
		return commits
	}
	tests := map[string]struct {
		reason  string
		line    []forge.Commit
		since   time.Time
		want    int
		reached bool
	}{
		"NoMerge":     {"all moves up to the head", line("B", "A", "M"), time.Time{}, 5, false},
		"SinceAMerge": {"what was dropped since the merge counts", line("B", "A"), at(3), 3, true},
		"NotCovered":  {"an earlier merge by a squash leaves its commits in the next pull request", line("B", "A", "M"), at(6), 2, true},
		"NoHead":      {"a head that is not listed", line("X", "A"), at(3), 0, false},
		"NoCommits":   {"nothing was merged", nil, at(3), 0, false},
	}
	for name, tc := range tests {
		got, reached := movesOf(tc.line, tc.since, pushes)
		if len(got) != tc.want || reached != tc.reached {
			t.Errorf("%s: %s: got %d moves, reached %t, want %d, %t", name, tc.reason, len(got), reached, tc.want, tc.reached)
		}
	}
}
