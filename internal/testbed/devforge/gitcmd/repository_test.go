package gitcmd_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

var by = gitcmd.Signature{Name: "ada", Email: "ada@localhost", When: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}

func newRepository(t *testing.T) *gitcmd.Repository {
	t.Helper()
	dir := t.TempDir()
	runner, err := gitcmd.NewRunner(dir, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runner.End(); runner.Wait() })
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", dir).CombinedOutput(); err != nil {
		t.Fatalf("init: %v: %s", err, out)
	}
	return gitcmd.Open(runner, dir)
}

// commit writes a commit that sets one file of its first parent's tree.
func commit(t *testing.T, r *gitcmd.Repository, path, content string, parents ...string) string {
	t.Helper()
	base := ""
	if len(parents) > 0 {
		base = parents[0]
	}
	blob, err := r.WriteBlob(t.Context(), []byte(content))
	check(t, err)
	tree, err := r.WriteTree(t.Context(), base, []gitcmd.Entry{{Mode: gitcmd.ModeFile, SHA: blob, Path: path}})
	check(t, err)
	sha, err := r.Write(t.Context(), gitcmd.Commit{Tree: tree, Parents: parents, Author: by, Committer: by, Message: "write " + path})
	check(t, err)
	return sha
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestACommitIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	first := commit(t, r, "a", "one\n")
	second := commit(t, r, "a", "two\n", first)
	got, err := r.Commit(t.Context(), second)
	check(t, err)
	want := gitcmd.Commit{SHA: second, Tree: got.Tree, Parents: []string{first}, Author: by, Committer: by, Message: "write a"}
	if diff := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	changes, err := r.Diff(t.Context(), first, second)
	check(t, err)
	if len(changes) != 1 || changes[0].Status != "modified" || changes[0].Patch != "@@ -1 +1 @@\n-one\n+two" {
		t.Errorf("a diff says what has changed: got %+v", changes)
	}
}

func TestWhatIsRemembered(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	first := commit(t, r, "a", "one\n")
	second := commit(t, r, "a", "two\n", first)
	for _, sha := range []string{first, second} {
		check(t, r.SetRef(t.Context(), "refs/heads/main", sha))
		if got, err := r.Commit(t.Context(), "main"); err != nil || got.SHA != sha {
			t.Errorf("a branch is looked up each time: got %s, %v, want %s", got.SHA, err, sha)
		}
	}
	before, err := r.Diff(t.Context(), first, second)
	check(t, err)
	check(t, os.RemoveAll(filepath.Join(r.Dir(), "objects")))
	again, err := r.Diff(t.Context(), first, second)
	check(t, err)
	if diff := cmp.Diff(before, again); diff != "" {
		t.Errorf("what git said of objects is not asked again (-first +second):\n%s", diff)
	}
	if _, err := r.TypeOf(t.Context(), first); err == nil {
		t.Error("an error is not remembered, nor what was never asked")
	}
}

func TestRenamesAndBinariesInADiff(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	first := commit(t, r, "old name", "the same text\nin both\n")
	moved, err := r.Entry(t.Context(), first, "old name")
	check(t, err)
	binary, err := r.WriteBlob(t.Context(), []byte{0, 1})
	check(t, err)
	tree, err := r.WriteTree(t.Context(), first, []gitcmd.Entry{
		{SHA: gitcmd.Zero, Path: "old name"},
		{Mode: gitcmd.ModeFile, SHA: moved.SHA, Path: "new name"},
		{Mode: gitcmd.ModeFile, SHA: binary, Path: "binary"},
	})
	check(t, err)
	got, err := r.Diff(t.Context(), first, tree)
	check(t, err)
	want := []gitcmd.Change{
		{Status: "added", Path: "binary", SHA: binary},
		{Status: "renamed", Path: "new name", Previous: "old name", SHA: moved.SHA},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMergeAndRebase(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	root := commit(t, r, "a", "one\n")
	base := commit(t, r, "b", "base\n", root)
	head := commit(t, r, "d", "more\n", commit(t, r, "c", "head\n", root))

	tree, err := r.MergeTrees(t.Context(), base, head)
	check(t, err)
	entries, err := r.ListTree(t.Context(), tree, "", false)
	check(t, err)
	if len(entries) != 4 {
		t.Errorf("a merge has what both sides have: got %v", entries)
	}
	tip, err := r.Rebase(t.Context(), base, head, by)
	check(t, err)
	commits, err := r.Log(t.Context(), base+".."+tip)
	check(t, err)
	if len(commits) != 2 || commits[0].Tree != tree || commits[1].Parents[0] != base || !r.IsAncestor(t.Context(), base, tip) {
		t.Errorf("a rebase puts each commit on top of the base: got %v", commits)
	}
	other := commit(t, r, "b", "other\n", root)
	if _, err := r.MergeTrees(t.Context(), base, other); !errors.Is(err, gitcmd.ErrConflict) {
		t.Errorf("two versions of a file are a conflict: %v", err)
	}
	if _, err := r.Rebase(t.Context(), base, other, by); !errors.Is(err, gitcmd.ErrConflict) {
		t.Errorf("and one for a rebase: %v", err)
	}
}

func TestARefMovesFromWhereItWasSeen(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	first := commit(t, r, "a", "one\n")
	second := commit(t, r, "a", "two\n", first)
	check(t, r.UpdateRef(t.Context(), "refs/heads/main", first, gitcmd.Zero))
	if err := r.UpdateRef(t.Context(), "refs/heads/main", second, second); !errors.Is(err, gitcmd.ErrMoved) {
		t.Errorf("it was elsewhere: %v", err)
	}
	check(t, r.UpdateRef(t.Context(), "refs/heads/main", second, first))
	refs, err := r.Refs(t.Context())
	check(t, err)
	if diff := cmp.Diff(map[string]string{"refs/heads/main": second}, refs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	check(t, r.UpdateRef(t.Context(), "refs/heads/main", gitcmd.Zero, second))
}

func TestWhatIsNoRevisionAndNoPath(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	check(t, r.SetRef(t.Context(), "refs/heads/main", commit(t, r, "a", "one\n")))
	for _, rev := range []string{"", "--all", "main~1", "main..main", "main@{1}", "main^", ":/x", "none", "-n1"} {
		if sha, err := r.Resolve(t.Context(), rev); !errors.Is(err, gitcmd.ErrNotFound) {
			t.Errorf("%q is no revision: got %q, %v", rev, sha, err)
		}
	}
	for _, rev := range []string{"main", "heads/main", "refs/heads/main", "HEAD"} {
		if _, err := r.Resolve(t.Context(), rev); err != nil {
			t.Errorf("%q is one: %v", rev, err)
		}
	}
	for _, path := range []string{"", "/a", "a//b", "../a", "a/./b", ".git/config", "a/.GIT/b"} {
		_, err := r.WriteTree(t.Context(), "", []gitcmd.Entry{{SHA: gitcmd.Zero, Mode: gitcmd.ModeFile, Path: path}})
		if !errors.Is(err, gitcmd.ErrPath) {
			t.Errorf("%q is no path: %v", path, err)
		}
	}
}
