package github_test

import (
	"strings"
	"testing"

	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
)

func TestReadFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	content := "image: web:1 # ü\r\n" + strings.Repeat("# more\n", 100)
	w.write("ada", "main", "deploy/web.yaml", content)
	then, err := w.client.Tip(t.Context(), "main")
	if err != nil || then.Commit != w.tip("main") || then.Tree == "" {
		t.Fatalf("got tip %+v, %v", then, err)
	}
	w.write("ada", "main", "deploy/web.yaml", "image: web:2\n")
	if got, err := w.client.ReadFile(t.Context(), "deploy/web.yaml", then.Commit); err != nil || string(got) != content {
		t.Errorf("the file must be as it was at the commit: got %q, %v", got, err)
	}
	for path, want := range map[string]forge.Kind{
		"deploy/none.yaml": forge.NotFound,
		"deploy":           forge.Invalid,
		"../web.yaml":      forge.Invalid,
	} {
		if _, err := w.client.ReadFile(t.Context(), path, then.Commit); forge.KindOf(err) != want {
			t.Errorf("%s: got %v, want an error of kind %s", path, err, want)
		}
	}
}

// TestBranchesOfAnyName: the tracked branch may have any name that Git allows.
func TestBranchesOfAnyName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"straße/2026,11", "主", "a%2fb", "100%", "a#b", "it's"} {
		w.branch("ada", name)
		if tip, err := w.client.Tip(t.Context(), name); err != nil || tip.Commit != w.tip("main") {
			t.Errorf("the tip of %q: got %+v, %v", name, tip, err)
		}
		if _, err := w.client.Protection(t.Context(), name); err != nil {
			t.Errorf("the protection of %q: %v", name, err)
		}
	}
	for _, name := range []string{"", "../x", "a/../b", "a b", "a?ref=b", "a\nb"} {
		if _, err := w.client.Tip(t.Context(), name); forge.KindOf(err) != forge.Invalid {
			t.Errorf("%q is no branch: got %v", name, err)
		}
	}
}

// TestOpenChangeByBranch: a revert is found by its branch, because the file may have changed since
// the request.
func TestOpenChangeByBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("by-branch")
	r.ByBranch = true
	first := w.open(r)
	r.Content = append(r.Content, "# and more\n"...)
	for _, state := range []string{"open", "closed"} {
		w.setState("ada", first.Number, state)
		if again := w.open(r); again.Number != first.Number || string(again.State) != state {
			t.Errorf("want #%d, which is %s, got %+v", first.Number, state, again)
		}
	}
	if pulls := w.pulls(r.Branch); len(pulls) != 1 {
		t.Errorf("there must never be a second pull request: got %d", len(pulls))
	}
}

// TestBranchThatIsTaken: a branch's name may be known in advance. Commits there by another account
// with push rights are not taken for ours, nor shown in our name.
func TestBranchThatIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("taken")
	r.ByBranch, r.First = true, true
	w.take("eve", r.Branch)
	w.write("eve", r.Branch, r.Path, string(r.Content))
	w.write("eve", r.Branch, "other.yaml", "also: this\n")
	pull := w.open(r)
	files, _, err := w.as("ada").PullRequests.ListFiles(t.Context(), "shop", "web", pull.Number, nil)
	if err != nil || len(files) != 1 || files[0].GetFilename() != r.Path {
		t.Errorf("want our pull request to change %s alone, got %v, %v", r.Path, files, err)
	}

	theirs := request("opened")
	theirs.ByBranch = true
	w.take("eve", theirs.Branch)
	w.write("eve", theirs.Branch, theirs.Path, "image: evil\n")
	if _, _, err := w.as("eve").PullRequests.Create(t.Context(), "shop", "web", &gogithub.NewPullRequest{
		Title: new("mine"), Head: &theirs.Branch, Base: new("main"),
	}); err != nil {
		t.Fatal(err)
	}
	if pull, found, err := w.client.FindChange(t.Context(), theirs); found || err != nil {
		t.Errorf("want a pull request that somebody else opened not taken for ours, got %+v, %v", pull, err)
	}
}

// take makes a branch before we do.
func (w *world) take(login, branch string) {
	w.t.Helper()
	_, _, err := w.as(login).Git.CreateRef(w.t.Context(), "shop", "web", &gogithub.Reference{
		Ref: new("refs/heads/" + branch), Object: &gogithub.GitObject{SHA: new(w.tip("main"))},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
