package github_test

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/approvals/forge"
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

// What is put back is known by its branch: the file may have changed since it was asked for.
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
