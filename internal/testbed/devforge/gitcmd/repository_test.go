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
