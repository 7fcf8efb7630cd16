package browser_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
	"github.com/sluice-dev/sluice/test/browser"
)

const repository = "shop/web"

// world is a forge with a repository that ada and bob may write to, and a pull request of ada's.
type world struct {
	*devforge.Forge

	t        *testing.T
	tokens   map[string]string
	ada, bob forgetest.User
}

// newWorld has a pull request of as many commits as there are files.
func newWorld(t *testing.T, files ...string) *world {
	t.Helper()
	w := &world{Forge: forgetest.Start(t, devforge.Options{}), t: t}
	if err := w.CreateRepository(t.Context(), repository, "main", fstest.MapFS{"README": {Data: []byte("read\n")}}); err != nil {
		t.Fatal(err)
	}
	w.tokens = forgetest.Invite(t, w.Forge, repository, "ada", "bob")
	w.ada = forgetest.As(t, w.Forge, repository, "ada", w.tokens["ada"])
	w.bob = forgetest.As(t, w.Forge, repository, "bob", w.tokens["bob"])
	w.ada.Do(http.MethodPost, "git/refs", map[string]string{"ref": "refs/heads/topic", "sha": w.tip("main")}, nil)
	for _, file := range files {
		w.ada.Put("topic", file, []byte(file+"\n"))
	}
	w.ada.Do(http.MethodPost, "pulls", map[string]string{"title": "Add topic", "head": "topic", "base": "main"}, nil)
	return w
}

// git runs git, whatever the machine has it do.
func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// remote returns the URL from which bob reads the repository.
func (w *world) remote() string {
	return strings.Replace(w.CloneURL(repository), "http://", "http://x:"+w.tokens["bob"]+"@", 1)
}

// tip returns the commit of a branch, as git sees it.
func (w *world) tip(branch string) string {
	w.t.Helper()
	sha, _, _ := strings.Cut(w.git("ls-remote", w.remote(), "refs/heads/"+branch), "\t")
	return sha
}

// pull returns the forge's pull request.
func (w *world) pull() (pull struct {
	State    string
	Merged   bool
	MergedBy struct{ Login string } `json:"merged_by"`
}) {
	w.t.Helper()
	w.bob.Do(http.MethodGet, "pulls/1", nil, &pull)
	return pull
}

// openPullIn goes from the front door to the first pull request, as the second user.
func (w *world) openPullIn(window *browser.Browser) *browser.Tab {
	w.t.Helper()
	tab := window.Person(w.t)
	tab.Open(w.URL() + "/" + repository + "/pulls")
	tab.SignIn("bob", w.tokens["bob"])
	w.reads(tab, "after signing in, what was asked for", "Signed in as bob", "#1 Add topic open topic into main, by ada")
	tab.Click("#1")
	w.reads(tab, "the pull request", "ada wants to merge topic into main", "topic.txt added")
	return tab
}

func (w *world) reads(tab *browser.Tab, reason string, texts ...string) {
	w.t.Helper()
	page := tab.Text()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			w.t.Errorf("%s: %q is missing from\n%s", reason, text, page)
		}
	}
}

func TestMergingInChromium(t *testing.T) {
	t.Parallel()
	window := chromium(t)
	tests := map[string]struct {
		reason           string
		parents, commits int
	}{
		"merge":  {"a merge commit joins both histories", 2, 4},
		"squash": {"a squash puts all on top of the base as one", 1, 2},
		"rebase": {"a rebase replays each commit", 1, 3},
	}
	for method, tc := range tests {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "topic.txt", "two.txt")
			tab := w.openPullIn(window)
			tab.Type("body", "looks fine")
			tab.Click("Approve")
			w.reads(tab, "after approving", "bob APPROVED at", "looks fine")
			tab.Choose("method", method)
			tab.Click("Merge pull request")

			tip := w.tip("main")
			w.reads(tab, "after merging", "#1 merged: ada wants to merge topic into main, merged as "+tip[:7])
			clone := t.TempDir()
			w.git("clone", "--quiet", w.remote(), clone)
			parents := strings.Fields(w.git("-C", clone, "rev-list", "--parents", "-1", tip))[1:]
			commits := strings.Fields(w.git("-C", clone, "rev-list", tip))
			if len(parents) != tc.parents || len(commits) != tc.commits {
				t.Errorf("%s: got %d parents and %d commits, want %d and %d", tc.reason, len(parents), len(commits), tc.parents, tc.commits)
			}
			w.git("-C", clone, "diff", "--exit-code", "origin/topic", tip)
			if merged := w.pull(); !merged.Merged || merged.MergedBy.Login != "bob" {
				t.Errorf("bob merged it: got %+v", merged)
			}
		})
	}
}

func TestClosingInChromium(t *testing.T) {
	t.Parallel()
	window := chromium(t)
	w := newWorld(t, "topic.txt")
	before := w.tip("main")
	tab := w.openPullIn(window)
	for _, step := range []struct{ button, state string }{
		{"Close pull request", "closed"}, {"Reopen pull request", "open"}, {"Close pull request", "closed"},
	} {
		tab.Click(step.button)
		w.reads(tab, "after "+step.button, "#1 "+step.state+": ada wants to merge")
		if got := w.pull().State; got != step.state {
			t.Errorf("after %s the forge says %s, want %s", step.button, got, step.state)
		}
	}
	if got := w.tip("main"); got != before {
		t.Errorf("nothing was merged: main went from %s to %s", before, got)
	}
	tab.Click("Sign out")
	w.reads(tab, "after signing out", "User", "Token")
}
