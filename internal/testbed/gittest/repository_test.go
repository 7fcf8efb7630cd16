package gittest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCommits: each commit is named as git names it, and stands where it was asked for.
func TestCommits(t *testing.T) {
	t.Parallel()
	r, err := Init(t.TempDir(), "app")
	check(t, err)
	commit := func(c Commit, parents ...string) string {
		t.Helper()
		name, err := r.Commit(c)
		check(t, err)
		branch := c.Branch
		if branch == "" {
			branch = Branch
		}
		got, err := r.Git(nil, "rev-list", "--parents", "--max-count=1", "refs/heads/"+branch)
		check(t, err)
		if diff := cmp.Diff(append([]string{name}, parents...), strings.Fields(got)); diff != "" {
			t.Errorf("the branch's commit and its parents (-want +got):\n%s", diff)
		}
		return name
	}
	first := commit(Commit{Files: map[string]string{"a": "1", "b/c": "1"}})
	second := commit(Commit{Files: map[string]string{"a": "2"}}, first)
	side := commit(Commit{Branch: "side", Parent: first, Files: map[string]string{"d": "1"}}, first)
	merge := commit(Commit{Merge: "side", Deleted: []string{"b"}}, second, side)
	for _, args := range [][]string{{"pack-refs", "--all"}, {"fsck", "--strict"}} {
		_, err := r.Git(nil, args...)
		check(t, err)
	}
	next := commit(Commit{Links: map[string]string{"link": "a"}}, merge)
	files, err := r.Git(nil, "ls-tree", "-r", "--name-only", next)
	check(t, err)
	if files != "a\nlink" {
		t.Errorf("the branch's files, with refs packed: got %q, want a and link", files)
	}
	commit(Commit{Orphan: true, Files: map[string]string{"e": "1"}})
	if name, err := r.Commit(Commit{Parent: "nowhere"}); err == nil {
		t.Errorf("a parent that is not there: got %s, want an error", name)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
