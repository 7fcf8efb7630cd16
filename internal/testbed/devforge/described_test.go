package devforge_test

import (
	"fmt"
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// TestOneObjectAtATime: this test sends the requests that no other test sends, so that every kind
// of answer is checked against GitHub's description.
func TestOneObjectAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	main := w.tip("main")
	ci, _ := w.appClient(w.app("ci"))
	run, _, err := ci.Checks.CreateCheckRun(w.ctx(), owner, web, github.CreateCheckRunOptions{Name: "test", HeadSHA: main})
	must(t, err)
	deployed, _, err := w.ada.Repositories.CreateDeployment(w.ctx(), owner, web, &github.DeploymentRequest{
		Ref: new("main"), RequiredContexts: &[]string{}, Payload: map[string]string{"release": "web"},
	})
	must(t, err)
	hook := w.hook(newReceiver(t, 200), "status")
	tests := map[string]struct {
		reason, path string
		want         int
	}{
		"User":         {"an account", "/users/bob", 200},
		"Bot":          {"an app's account", "/users/ci%5Bbot%5D", 200},
		"NoUser":       {"nobody", "/users/nobody", 404},
		"CheckRun":     {"a check run", fmt.Sprintf("/repos/shop/web/check-runs/%d", run.GetID()), 200},
		"NoCheckRun":   {"no check run", "/repos/shop/web/check-runs/1", 404},
		"Deployment":   {"a deployment", fmt.Sprintf("/repos/shop/web/deployments/%d", deployed.GetID()), 200},
		"NoDeployment": {"no deployment", "/repos/shop/web/deployments/x", 404},
		"Hook":         {"a hook is for admins", fmt.Sprintf("/repos/shop/web/hooks/%d", hook), 403},
		"TreeOfBranch": {"the tree of a branch", "/repos/shop/web/git/trees/main", 200},
		"NoTree":       {"no tree", "/repos/shop/web/git/trees/none", 404},
		"NoBlob":       {"a commit is no blob", "/repos/shop/web/git/blobs/" + main, 404},
		"Rules":        {"a branch without rules", "/repos/shop/web/rules/branches/main", 200},
		"NoBranch":     {"no branch", "/repos/shop/web/branches/none", 404},
		"Same":         {"a comparison of one commit", "/repos/shop/web/compare/main...main", 200},
		"NoHead":       {"a comparison with nothing", "/repos/shop/web/compare/main...none", 404},
		"Elsewhere":    {"what GitHub has and the forge has not", "/repos/shop/web/topics", 404},
		"Suites":       {"the check suites of a commit", "/repos/shop/web/commits/" + main + "/check-suites?check_name=test", 200},
		"NoSuites":     {"check suites of nothing", "/repos/shop/web/commits/none/check-suites", 422},
		"NoIssue":      {"no pull request", "/repos/shop/web/issues/7", 404},
		"NoTeam":       {"no team", "/orgs/shop/teams/none", 404},
		"BadState":     {"a state that is none", "/repos/shop/web/pulls?state=odd", 422},
		"NoComments":   {"comments of nothing", "/repos/shop/web/issues/7/comments", 404},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := w.do("GET", "/api/v3"+tc.path, "", nil); got.status != tc.want {
				t.Errorf("%s: got status %d, want %d: %s", tc.reason, got.status, tc.want, got.body)
			}
		})
	}
	got, _, err := w.bob.Repositories.GetHook(w.ctx(), owner, web, hook)
	must(t, err)
	if got.GetID() != hook {
		t.Errorf("a hook: got %v", got)
	}
}
