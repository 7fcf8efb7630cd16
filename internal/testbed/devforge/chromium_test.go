package devforge_test

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// openPullIn goes from the front door to the first pull request, as the second user.
func (w *world) openPullIn(browser *forgetest.Browser) *forgetest.Tab {
	w.t.Helper()
	tab := browser.Tab(w.t)
	tab.Open(w.URL() + "/" + repository + "/pulls")
	tab.SignIn("bob", w.tokens["bob"])
	w.reads(tab, "after signing in, what was asked for", "Signed in as bob", "#1 Add topic open topic into main, by ada")
	tab.Click("#1")
	w.reads(tab, "the pull request", "ada wants to merge topic into main", "topic.txt added")
	return tab
}

func (w *world) reads(tab *forgetest.Tab, reason string, texts ...string) {
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
	browser := forgetest.StartBrowser(t)
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
			w := newWorld(t, devforge.Options{})
			clone := w.cloneAs(w.tokens["ada"])
			w.open(clone, "topic")
			w.push(clone, "topic", "two.txt", "two\n")
			tab := w.openPullIn(browser)
			tab.Type("body", "looks fine")
			tab.Click("Approve")
			w.reads(tab, "after approving", "bob APPROVED at", "looks fine")
			tab.Choose("method", method)
			tab.Click("Merge pull request")

			tip := w.tip("main")
			w.reads(tab, "after merging", "#1 merged: ada wants to merge topic into main, merged as "+tip[:10])
			git(t, clone, "fetch", "--quiet", "origin")
			parents := strings.Fields(git(t, clone, "rev-list", "--parents", "-1", tip))[1:]
			commits := strings.Fields(git(t, clone, "rev-list", tip))
			if len(parents) != tc.parents || len(commits) != tc.commits {
				t.Errorf("%s: got %d parents and %d commits, want %d and %d", tc.reason, len(parents), len(commits), tc.parents, tc.commits)
			}
			git(t, clone, "diff", "--exit-code", "origin/topic", tip)
			if merged := w.pull(1); !merged.GetMerged() || merged.GetMergedBy().GetLogin() != "bob" {
				t.Errorf("bob merged it: got %v", merged)
			}
		})
	}
}

func TestClosingInChromium(t *testing.T) {
	t.Parallel()
	browser := forgetest.StartBrowser(t)
	w := newWorld(t, devforge.Options{})
	w.open(w.cloneAs(w.tokens["ada"]), "topic")
	before := w.tip("main")
	tab := w.openPullIn(browser)
	for _, step := range []struct{ button, state string }{
		{"Close pull request", "closed"}, {"Reopen pull request", "open"}, {"Close pull request", "closed"},
	} {
		tab.Click(step.button)
		w.reads(tab, "after "+step.button, "#1 "+step.state+": ada wants to merge")
		if got := w.pull(1).GetState(); got != step.state {
			t.Errorf("after %s the forge says %s, want %s", step.button, got, step.state)
		}
	}
	if got := w.tip("main"); got != before {
		t.Errorf("nothing was merged: main went from %s to %s", before, got)
	}
	tab.Click("Sign out")
	w.reads(tab, "after signing out", "User", "Token")
}
