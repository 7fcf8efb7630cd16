package main

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/person"
)

func TestPeopleOnTheForge(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	commit, number := w.openPull("topic")
	if err := w.first.people[tester].approve(t.Context(), number, "fine"); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("CI's token is good for statuses alone: got %v", err)
	}
	if err := w.first.people[approver].approve(t.Context(), number, "fine"); err != nil {
		t.Fatal(err)
	}
	if got := w.git("log", "-1", "--format=%an", "origin/"+branch); got != approver {
		t.Errorf("the merge is on the branch, and the approver's: got %q", got)
	}

	for _, state := range []string{stateFailure, stateSuccess} {
		if err := w.first.people[tester].post(t.Context(), commit, commitStatus{"ci/smoke", state, "tried"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.first.people[developer].statuses(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	want := []commitStatus{{"ci/smoke", stateSuccess, "tried"}, {"ci/smoke", stateFailure, "tried"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses are listed newest first (-want +got):\n%s", diff)
	}
}

func TestStrangersSeeNothing(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	stranger := somebody{person.New(w.forge, w.first.repository, "eve", "guess")}
	if _, err := stranger.statuses(t.Context(), branch); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("the repository is private: got %v", err)
	}
	if _, err := gitClone(t.Context(), w.forge.CloneURL(w.first.repository), filepath.Join(t.TempDir(), "work")); err == nil {
		t.Error("git must not clone it without a token")
	}
}

// town is the forge of the demo, with all its people, and the developer's clone.
type town struct {
	*testing.T
	*environment
	work *clone
}

func newTown(t *testing.T) *town {
	t.Helper()
	out, _ := captured(t)
	w := &town{T: t, environment: &environment{
		first: oneDeployment(), state: &stateDir{path: t.TempDir()}, screen: newScreen(out, true, func() {}), log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}}
	t.Cleanup(func() {
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
	if err := w.startForge(t.Context()); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.work, err = w.checkOut(t.Context(), w.first); err != nil {
		t.Fatal(err)
	}
	return w
}

// openPull pushes a commit on a branch and asks to merge it. It gives the commit and the number.
func (w *town) openPull(head string) (string, int64) {
	w.Helper()
	w.git("switch", "--quiet", "--create", head)
	if err := w.work.setImage(web().manifest, web().images[0], web().images[1]); err != nil {
		w.Fatal(err)
	}
	w.git("commit", "--quiet", "--all", "--message", "change")
	w.git("push", "--quiet", "origin", head)
	commit, err := w.work.head(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	pull := struct {
		Number int64 `json:"number"`
	}{}
	request := map[string]string{"title": "Change", "head": head, "base": branch}
	if err := w.first.people[developer].Call(w.Context(), http.MethodPost, "/pulls", request, &pull); err != nil {
		w.Fatal(err)
	}
	return commit, pull.Number
}

// git works on what the forge has now.
func (w *town) git(args ...string) string {
	w.Helper()
	if _, err := w.work.git(w.Context(), "fetch", "--quiet"); err != nil {
		w.Fatal(err)
	}
	out, err := w.work.git(w.Context(), args...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}
