package gitrepo_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// pushWorld is a repository on a forge, to which we push.
type pushWorld struct {
	*testing.T

	forge  *devforge.Forge
	reader *gitrepo.Reader
	at     forge.Remote
	ada    forgetest.User
	// tip is the commit of the tracked branch.
	tip string
}

func newPushWorld(t *testing.T) *pushWorld {
	t.Helper()
	w := &pushWorld{T: t, forge: forgetest.Start(t, devforge.Options{Dir: t.TempDir()})}
	seed := fstest.MapFS{
		"README": {Data: []byte("The shop.\n")}, "a/b": {Data: []byte("1\n")}, "a.b": {Data: []byte("2\n")}, "a0": {Data: []byte("3\n")},
		".sluice/approvals/other/web.yaml": {Data: []byte("other\n")},
	}
	if err := w.forge.CreateRepository(t.Context(), "shop/web", "main", seed); err != nil {
		t.Fatal(err)
	}
	tokens := forgetest.Invite(t, w.forge, "shop/web", "sluice", "ada")
	w.ada = forgetest.As(t, w.forge, "shop/web", "ada", tokens["ada"])
	w.tip = w.ada.Put("main", "README", []byte("Our shop.\n"))
	w.reader = gitrepo.NewReader(gitrepo.Options{AllowHTTP: true, Networks: dialer.Rules{Allowed: dialer.Loopback()}})
	w.at = forge.Remote{URL: w.forge.CloneURL("shop/web"), User: "x-access-token", Password: tokens["sluice"], Timeout: 20 * time.Second}
	return w
}

func (w *pushWorld) branch(path string) forge.NewBranch {
	return forge.NewBranch{
		Change: forge.ChangeRequest{
			Branch: "sluice/shop/web/step-1", Base: "main", Path: path, Content: []byte("record\n"), Tip: w.tip, Message: "Approve\n",
		},
		Author: forge.Signature{Name: "sluice", Address: "sluice@localhost", At: time.Unix(1_790_000_000, 0)},
	}
}

// commitOf returns the commit of a branch; empty if there is none.
func (w *pushWorld) commitOf(branch string) string {
	w.Helper()
	var found struct{ Commit struct{ SHA string } }
	if w.ada.Try(http.MethodGet, "branches/"+strings.ReplaceAll(branch, "/", "%2F"), nil, &found) != http.StatusOK {
		return ""
	}
	return found.Commit.SHA
}

// TestPush: one push makes the branch with its commit, which changes one file, wherever that is,
// and again makes the same commit.
func TestPush(t *testing.T) {
	t.Parallel()
	for _, path := range []string{".sluice/approvals/shop/web.yaml", ".sluice/approvals/other/web.yaml", "new", "a/b", "a/c/d"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := newPushWorld(t)
			asked := w.branch(path)
			made, err := w.reader.Push(t.Context(), w.at, asked)
			if err != nil || made.Standing != "" || made.Parent != w.tip || w.commitOf(asked.Change.Branch) != made.Commit {
				t.Fatalf("want the branch at the new commit, got %+v, %v, and %q", made, err, w.commitOf(asked.Change.Branch))
			}
			var compared struct {
				Commits []struct {
					Commit struct{ Message string }
					Author struct{ Login string }
				}
				Files []struct{ Filename, SHA string }
			}
			w.ada.Do(http.MethodGet, "compare/main..."+made.Commit, nil, &compared)
			if len(compared.Commits) != 1 || compared.Commits[0].Author.Login != "sluice" || len(compared.Files) != 1 ||
				compared.Files[0].Filename != path || compared.Files[0].SHA != forge.BlobSHA(asked.Change.Content) {
				t.Errorf("want one commit of ours with one file, got %+v", compared)
			}
			again, err := w.reader.Push(t.Context(), w.at, asked)
			if diff := cmp.Diff(made, again); diff != "" || err != nil {
				t.Errorf("a push whose answer was lost must find its branch: %v\n%s", err, diff)
			}
		})
	}
}

// TestPushMovesNothing: a branch that is there stays, and so does everything if the tracked branch
// has moved, or if we may not push.
func TestPushMovesNothing(t *testing.T) {
	t.Parallel()
	w := newPushWorld(t)
	asked := w.branch("record")
	w.ada.Do(http.MethodPost, "git/refs", map[string]string{"ref": "refs/heads/" + asked.Change.Branch, "sha": w.tip}, nil)
	made, err := w.reader.Push(t.Context(), w.at, asked)
	if err != nil || made.Standing != w.tip || w.commitOf(asked.Change.Branch) != w.tip {
		t.Errorf("want the branch of somebody else left at %s, got %+v, %v", w.tip, made, err)
	}
	w.ada.Put("main", "README", []byte("Moved.\n"))
	asked.Change.Branch = "sluice/other"
	if _, err = w.reader.Push(t.Context(), w.at, asked); forge.KindOf(err) != forge.Conflict || w.commitOf(asked.Change.Branch) != "" {
		t.Errorf("want nothing pushed on a branch that has moved, got %v", err)
	}
	asked.Change.Tip = ""
	asked.Change.Path = "README/record"
	if _, err = w.reader.Push(t.Context(), w.at, asked); gitrepo.KindOf(err) != gitrepo.Invalid {
		t.Errorf("want no file replaced by a folder, got %v", err)
	}
	asked.Change.Path = "README"
	asked.Change.Content = []byte("Moved.\n")
	if _, err = w.reader.Push(t.Context(), w.at, asked); forge.KindOf(err) != forge.Conflict {
		t.Errorf("want no commit that changes nothing, got %v", err)
	}
	if err := w.forge.Grant("shop/web", "sluice", devforge.RoleRead); err != nil {
		t.Fatal(err)
	}
	asked.Change.Content = []byte("record\n")
	_, err = w.reader.Push(t.Context(), w.at, asked)
	if gitrepo.KindOf(err) != gitrepo.Denied || strings.Contains(err.Error(), w.at.Password) ||
		strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte(w.at.User+":"+w.at.Password))) {
		t.Errorf("want a refusal without the token, got %v", err)
	}
}

// TestRemove: a push removes a branch, whether its commit is known, was another, or is not known,
// and one that is gone is no error.
func TestRemove(t *testing.T) {
	t.Parallel()
	w := newPushWorld(t)
	for _, known := range []string{"right", "another", ""} {
		asked := w.branch("record")
		made, err := w.reader.Push(t.Context(), w.at, asked)
		commit := map[string]string{"right": made.Commit, "another": w.tip}[known]
		for range 2 {
			err = errors.Join(err, w.reader.Remove(t.Context(), w.at, asked.Change.Branch, commit))
		}
		if err != nil || w.commitOf(asked.Change.Branch) != "" {
			t.Errorf("commit %q: want the branch removed, got %v", known, err)
		}
	}
}
