package gitrepo

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// TestLocal reads revisions of a clone on disk, and says what a shallow one lacks.
func TestLocal(t *testing.T) {
	t.Parallel()
	origin, err := gittest.Init(t.TempDir(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	commit := func(c gittest.Commit) string {
		name, err := origin.Commit(c)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	first := commit(gittest.Commit{Files: map[string]string{"a/web.yaml": "one"}})
	commit(gittest.Commit{Branch: "next", Parent: first, Files: map[string]string{"b.yaml": strings.Repeat("x", 100)}})
	second := commit(gittest.Commit{Message: "two\n\nmore", Files: map[string]string{"a/web.yaml": "two"}})
	if _, err := origin.Git(nil, "clone", "--quiet", "--no-local", origin.Dir, "../whole"); err != nil {
		t.Fatal(err)
	}
	if _, err := origin.Git(nil, "clone", "--quiet", "--no-local", "--depth=1", "file://"+origin.Dir, "../shallow"); err != nil {
		t.Fatal(err)
	}
	whole := openLocal(t, origin.Dir+"/../whole/a")

	for revision, want := range map[string]string{"HEAD": second, "HEAD~1": first, "main": second, first[:9]: first, "origin/next~1": first} {
		if at, err := whole.At(revision); err != nil || at.Commit != want {
			t.Errorf("%s: want %s, got %+v, %v", revision, want, at, err)
		}
	}
	head, err := whole.At("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(head.FS(), "a/web.yaml"); string(text) != "two" || head.Subject != "two" {
		t.Errorf("want file and subject of the commit, got %q, %v and %q", text, err, head.Subject)
	}
	if base, err := whole.MergeBase("origin/next", "HEAD"); err != nil || base.Commit != first {
		t.Errorf("want the commit that both have come from, got %+v, %v", base, err)
	}
	if parent, err := whole.Parent(head); err != nil || parent.Commit != first {
		t.Errorf("want the first parent, got %+v, %v", parent, err)
	}
	if next, err := whole.At("origin/next"); err != nil {
		t.Error(err)
	} else if _, err := fs.ReadFile(next.FS(), "b.yaml"); KindOf(errorIn(err)) != LimitExceeded {
		t.Errorf("a file that is too large can't be read, got %v", err)
	}

	shallow := openLocal(t, origin.Dir+"/../shallow")
	if _, err := shallow.At("HEAD~1"); err == nil || !strings.Contains(err.Error(), "fetch-depth") {
		t.Errorf("want to be told how to get what is missing, got %v", err)
	}
	if head, err = shallow.At("HEAD"); err != nil {
		t.Fatal(err)
	}
	if parent, err := shallow.Parent(head); parent != nil || err != nil {
		t.Errorf("history ends where the clone does, got %+v, %v", parent, err)
	}
	if _, err := whole.At("nowhere"); KindOf(err) != BranchNotFound {
		t.Errorf("want no such revision, got %v", err)
	}
	if _, err := OpenLocal(t.Context(), t.TempDir(), os.Environ(), Limits{}); KindOf(err) != RepositoryNotFound {
		t.Errorf("want no repository, got %v", err)
	}
}

func openLocal(t *testing.T, folder string) *Local {
	t.Helper()
	local, err := OpenLocal(t.Context(), folder, os.Environ(), Limits{FileBytes: 50})
	if err != nil {
		t.Fatal(err)
	}
	return local
}

// errorIn returns the error of a file, without its path.
func errorIn(err error) error {
	if located, ok := errors.AsType[*fs.PathError](err); ok {
		return located.Err
	}
	return err
}
