package report

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestPageOfRelease: a status leads to the page of its release where it leads to no pull request,
// and nothing is posted again because there is a page, another one, or none any more.
func TestPageOfRelease(t *testing.T) {
	t.Parallel()
	const updating, page = "batch 2/4: updating to 3 of 10 pods", "https://traces.test/1"
	link := func(s *scene) { s.release.Status.Report.URL = "https://traces.test/0" }
	for name, test := range map[string]struct {
		scene *scene
		page  string
		want  string
	}{
		"nothing was told":       {rolling(good), page, page},
		"no page":                {rolling(good), "", ""},
		"a page that is none":    {rolling(good), "javascript:alert(1)", ""},
		"a pull request":         {rolling(good).blockedOn(approval()), page, pullAt},
		"something else is told": {rolling(good).told(good, toldReleased, "released").but(link), page, page},
		"it was told":            {rolling(good).told(good, toldUpdating, updating), page, "nothing"},
		"... with another page":  {rolling(good).told(good, toldUpdating, updating).but(link), page, "nothing"},
		"... and there is none":  {rolling(good).told(good, toldUpdating, updating).but(link), "", "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := "nothing"
			posts := Next(test.scene.release, test.scene.gates, Options{Page: func(*v1alpha1.BatchRelease) string { return test.page }})
			for _, post := range posts {
				got = post.Status.TargetURL
			}
			if got != test.want {
				t.Errorf("the status leads to %q, want %q", got, test.want)
			}
		})
	}
}
