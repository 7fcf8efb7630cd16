package devforge_test

import (
	"fmt"
	"net/http"
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

func TestRequestsThatAreMalformed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.open(w.cloneAs(w.tokens["ada"]), "topic")
	const repo = "/api/v3/repos/shop/web"
	tests := map[string]struct {
		reason, method, path, body string
		want                       int
	}{
		"JSON":     {"it is no JSON", "POST", repo + "/pulls", "{", 400},
		"Type":     {"a member has another type", "POST", repo + "/statuses/" + w.tip("main"), `{"state":1}`, 400},
		"Base64":   {"it is not Base64", "PUT", repo + "/contents/x", `{"message":"m","content":"%"}`, 422},
		"Message":  {"there is no message", "PUT", repo + "/contents/x", `{"content":""}`, 422},
		"Delete":   {"what is deleted is not said", "DELETE", repo + "/contents/README", `{"message":"m"}`, 422},
		"Branch":   {"there is no such branch", "PUT", repo + "/contents/x", `{"message":"m","content":"","branch":"none"}`, 404},
		"Mode":     {"a mode is none", "POST", repo + "/git/trees", `{"tree":[{"path":"a","mode":"1","content":"x"}]}`, 422},
		"Tree":     {"there is no such tree", "POST", repo + "/git/commits", `{"message":"m","tree":"none"}`, 422},
		"Ref":      {"a ref has a bad name", "POST", repo + "/git/refs", `{"ref":"refs/heads/a..b","sha":"x"}`, 422},
		"Object":   {"a ref to nothing", "POST", repo + "/git/refs", `{"ref":"refs/heads/a","sha":"x"}`, 422},
		"Default":  {"the default branch stays", "DELETE", repo + "/git/refs/heads/main", "", 422},
		"Method":   {"there is no such kind of merge", "PUT", repo + "/pulls/1/merge", `{"merge_method":"magic"}`, 422},
		"Comment":  {"a comment says something", "POST", repo + "/issues/1/comments", `{"body":""}`, 422},
		"Dismiss":  {"there is no such review", "PUT", repo + "/pulls/1/reviews/1/dismissals", `{"message":"m"}`, 404},
		"Reviewer": {"a stranger can't review", "POST", repo + "/pulls/1/requested_reviewers", `{"reviewers":["eve"]}`, 422},
		"Team":     {"there is no such team", "POST", repo + "/pulls/1/requested_reviewers", `{"team_reviewers":["x"]}`, 422},
		"Deploy":   {"there is nothing to deploy", "POST", repo + "/deployments", `{"ref":"none"}`, 422},
		"Token":    {"only an app makes tokens", "POST", "/api/v3/app/installations/1/access_tokens", "", 401},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := w.do(tc.method, tc.path, tc.body, nil); got.status != tc.want {
				t.Errorf("%s: got status %d, want %d: %s", tc.reason, got.status, tc.want, got.body)
			}
		})
	}
}

func TestNobodyMayOnlyReadWhatIsPublic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	nobody := http.Header{"Authorization": nil}
	if got := w.do("GET", pullsPath, "", nobody); got.status != http.StatusNotFound {
		t.Errorf("what is private is not there: got %d", got.status)
	}
	if got := w.do("GET", "/api/v3/user", "", nobody); got.status != http.StatusUnauthorized {
		t.Errorf("nobody has no account: got %d", got.status)
	}
	must(t, w.MakePublic(repository))
	if got := w.do("GET", pullsPath, "", nobody); got.status != http.StatusOK {
		t.Errorf("what is public can be read: got %d", got.status)
	}
	if got := w.do("POST", pullsPath, "{}", nobody); got.status != http.StatusUnauthorized {
		t.Errorf("and not written: got %d", got.status)
	}
}
