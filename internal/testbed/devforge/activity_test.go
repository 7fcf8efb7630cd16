package devforge_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// TestActivityTellsWhoPushed: the forge tells who moved a branch and how, whatever the commits say.
func TestActivityTellsWhoPushed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	first := w.tip("main")
	pushed := w.push(clone, "main", "a.txt", "a\n")
	pull := w.open(clone, "topic")
	merged, _, err := w.bob.PullRequests.Merge(w.ctx(), owner, web, pull.GetNumber(), "", nil)
	must(t, err)
	git(t, clone, "push", "--quiet", "--force", "origin", first+":refs/heads/main")

	want := []string{
		"force_push ada " + merged.GetSHA() + ".." + first,
		"pr_merge bob " + pushed + ".." + merged.GetSHA(),
		"push ada " + first + ".." + pushed,
	}
	if diff := cmp.Diff(want, w.activity("?ref=refs/heads/main")); diff != "" {
		t.Errorf("the moves of main must come newest first (-want +got):\n%s", diff)
	}
	if got := w.activity("?ref=topic"); len(got) != 1 || !strings.HasPrefix(got[0], "branch_creation ada") {
		t.Errorf("a branch by its short name: got %q", got)
	}
	if diff := cmp.Diff(want, w.activity("?ref=main&per_page=1")); diff != "" {
		t.Errorf("the pages must hold the same (-want +got):\n%s", diff)
	}
	if got := w.do("GET", "/api/v3/repos/shop/web/activity?after=x", "", nil); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a cursor that is none: got status %d", got.status)
	}
}

// activity returns all that the forge lists, page by page.
func (w *world) activity(query string) []string {
	w.t.Helper()
	var lines []string
	for next := "/api/v3/repos/shop/web/activity" + query; next != ""; {
		page := w.do("GET", next, "", nil)
		var listed []struct {
			Before, After string
			Type          string `json:"activity_type"`
			Actor         struct{ Login string }
		}
		must(w.t, json.Unmarshal(page.body, &listed))
		for _, a := range listed {
			lines = append(lines, a.Type+" "+a.Actor.Login+" "+a.Before+".."+a.After)
		}
		next = ""
		if link, found := strings.CutSuffix(page.header.Get("Link"), `>; rel="next"`); found {
			next = strings.TrimPrefix(link, "<"+w.URL())
		}
	}
	return lines
}
