package devforge_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// What no other test requests is requested here, so that every kind of answer has been held to
// GitHub's description.
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

// The issue of a pull request says who closed it. Another team that takes the slug of a deleted
// one has another number.
func TestWhoClosedAndWhoIsATeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.open(w.cloneAs(w.tokens["ada"]), "topic")
	closer := func() string {
		t.Helper()
		issue, _, err := w.ada.Issues.Get(w.ctx(), owner, web, 1)
		must(t, err)
		return issue.GetClosedBy().GetLogin()
	}
	set := func(as *github.Client, state string) {
		t.Helper()
		_, _, err := as.PullRequests.Edit(w.ctx(), owner, web, 1, &github.PullRequest{State: &state})
		must(t, err)
	}
	if got := closer(); got != "" {
		t.Errorf("an open one was closed by %q", got)
	}
	set(w.bob, "closed")
	if got := closer(); got != "bob" {
		t.Errorf("got %q, want bob", got)
	}
	set(w.bob, "open")
	_, err := w.ada.Git.DeleteRef(w.ctx(), owner, web, "heads/topic")
	must(t, err)
	if got := closer(); got != "ada" {
		t.Errorf("whoever deletes the branch has closed it: got %q, want ada", got)
	}

	number := func() int64 {
		t.Helper()
		must(t, w.CreateTeam(owner, "sre", "ada"))
		team, _, err := w.ada.Teams.GetTeamBySlug(w.ctx(), owner, "sre")
		must(t, err)
		return team.GetID()
	}
	if first, next := number(), number(); first == 0 || first == next {
		t.Errorf("two teams have the numbers %d and %d", first, next)
	}
}

// TestUpdateBranch: the button "Update branch" merges the base into the head, and the author is who
// presses it.
func TestUpdateBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.open(w.cloneAs(w.tokens["ada"]), "topic")
	const path = "/api/v3/repos/shop/web/pulls/1/update-branch"
	if got := w.do("PUT", path, "{}", nil); got.status != 422 {
		t.Errorf("there is nothing to merge: got status %d", got.status)
	}
	_, _, err := w.ada.Repositories.CreateFile(w.ctx(), owner, web, "later", &github.RepositoryContentFileOptions{Message: new("Later"), Content: []byte("x")})
	must(t, err)
	_, _, err = w.bob.PullRequests.UpdateBranch(w.ctx(), owner, web, 1, nil)
	if _, accepted := errors.AsType[*github.AcceptedError](err); !accepted {
		t.Fatalf("want it accepted, got %v", err)
	}
	commits, _, err := w.ada.PullRequests.ListCommits(w.ctx(), owner, web, 1, nil)
	must(t, err)
	if last := commits[len(commits)-1]; len(last.Parents) != 2 || last.GetAuthor().GetLogin() != "bob" {
		t.Errorf("want a merge by bob, got %v", last)
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

func TestLinksAndFoldersOfATree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	objects, main := w.ada.Git, w.tip("main")
	base, _, err := objects.GetTree(w.ctx(), owner, web, main, false)
	must(t, err)
	// The whole tree again as a folder of itself, a symbolic link and a submodule.
	tree, _, err := objects.CreateTree(w.ctx(), owner, web, main, []*github.TreeEntry{
		{Path: new("copy"), Mode: new("040000"), Type: new("tree"), SHA: base.SHA},
		{Path: new("link"), Mode: new("120000"), Type: new("blob"), Content: new("README")},
		{Path: new("module"), Mode: new("160000"), Type: new("commit"), SHA: &main},
	})
	must(t, err)
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	commit, _, err := objects.CreateCommit(w.ctx(), owner, web, &github.Commit{
		Message: new("all kinds"), Tree: tree, Parents: []*github.Commit{{SHA: &main}},
		Author: &github.CommitAuthor{Name: new("Bob"), Email: new("bob@localhost"), Date: &github.Timestamp{Time: when}},
	}, nil)
	must(t, err)
	if !commit.GetAuthor().GetDate().Equal(github.Timestamp{Time: when}) {
		t.Errorf("an author's time is kept: got %v", commit.GetAuthor())
	}
	opts := &github.RepositoryContentGetOptions{Ref: commit.GetSHA()}
	_, folder, _, err := w.ada.Repositories.GetContents(w.ctx(), owner, web, "", opts)
	must(t, err)
	var got []string
	for _, e := range folder {
		got = append(got, e.GetName()+" "+e.GetType())
	}
	if diff := cmp.Diff([]string{"README file", "copy dir", "deploy dir", "link symlink", "module submodule"}, got); diff != "" {
		t.Errorf("each entry says what it is (-want +got):\n%s", diff)
	}
	for path, want := range map[string]int{"link": 200, "copy/deploy/app.yaml": 200, "module": 404} {
		_, _, _, err := w.ada.Repositories.GetContents(w.ctx(), owner, web, path, opts)
		wantStatus(t, path, err, want)
	}
	_, _, err = w.ada.Repositories.GetCommit(w.ctx(), owner, web, commit.GetSHA(), nil)
	must(t, err)
}

func TestAppsInSomeRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	must(t, w.CreateRepository(w.ctx(), "shop/other", "main", nil))
	app, err := w.CreateApp("some", nil)
	must(t, err)
	id, err := w.InstallApp(app.ID, owner, repository)
	must(t, err)
	if _, err := w.InstallApp(app.ID, "nobody"); !errors.Is(err, devforge.ErrUnknown) {
		t.Errorf("there is no such account: %v", err)
	}
	given, err := w.CreateInstallationToken(app.ID, id)
	must(t, err)
	_, _, err = w.client(given).Repositories.Get(w.ctx(), owner, web)
	wantStatus(t, "a token that is given to the app", err, 200)
	_, err = w.CreateInstallationToken(app.ID, id+1)
	_, other := w.CreateInstallationToken(app.ID+1, id)
	if !errors.Is(err, devforge.ErrUnknown) || !errors.Is(other, devforge.ErrUnknown) {
		t.Errorf("there is no such installation: %v, %v", err, other)
	}
	signed := w.client(signJWT(t, app, w.now()))
	_, _, err = signed.Repositories.Get(w.ctx(), owner, web)
	wantStatus(t, "an app without an installation's token", err, 403)
	repo, _, err := w.ada.Repositories.Get(w.ctx(), owner, web)
	must(t, err)
	token, _, err := signed.Apps.CreateInstallationToken(w.ctx(), id, &github.InstallationTokenOptions{RepositoryIDs: []int64{repo.GetID()}})
	must(t, err)
	_, _, err = w.client(token.GetToken()).Repositories.Get(w.ctx(), owner, "other")
	wantStatus(t, "where the app is not installed", err, 404)
	_, _, err = signed.Apps.CreateInstallationToken(w.ctx(), id, &github.InstallationTokenOptions{Repositories: []string{"other"}})
	wantStatus(t, "a token for where the app is not installed", err, 422)
	_, _, err = w.client(token.GetToken()).Users.Get(w.ctx(), "")
	wantStatus(t, "an installation is no user", err, 403)
	_, _, err = signed.Apps.FindRepositoryInstallation(w.ctx(), owner, "other")
	wantStatus(t, "an installation elsewhere", err, 404)
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

func TestTeamsReviewAndMessagesAreTheCallers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	git(t, clone, "checkout", "--quiet", "-B", "topic")
	git(t, clone, "mv", "README", "READ ME")
	w.push(clone, "topic", "new.txt", "new\n")
	w.openPull("topic")
	must(t, w.CreateTeam(owner, "releasers", "bob"))
	asked, _, err := w.ada.PullRequests.RequestReviewers(w.ctx(), owner, web, 1, github.ReviewersRequest{TeamReviewers: []string{"releasers"}})
	must(t, err)
	if len(asked.RequestedTeams) != 1 {
		t.Errorf("a team is asked: got %v", asked.RequestedTeams)
	}
	files, _, err := w.ada.PullRequests.ListFiles(w.ctx(), owner, web, 1, nil)
	must(t, err)
	if diff := cmp.Diff([]string{"READ ME renamed 0", "new.txt added 1"}, describe(files)); diff != "" || files[0].GetPreviousFilename() != "README" {
		t.Errorf("a rename is one change (-want +got):\n%s", diff)
	}
	_, _, err = w.bob.PullRequests.Merge(w.ctx(), owner, web, 1, "in my words", &github.PullRequestOptions{
		MergeMethod: "squash", CommitTitle: "My title",
	})
	must(t, err)
	git(t, clone, "fetch", "--quiet", "origin")
	if got := git(t, clone, "log", "-1", "--format=%B", "origin/main"); got != "My title\n\nin my words" {
		t.Errorf("the message is the caller's: got %q", got)
	}
}

func TestAccountsThatCanNotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	_, err := w.CreateUser("ADA")
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("logins differ by more than case: %v", err)
	}
	_, err = w.CreateUser("a/b")
	if err == nil {
		t.Error("a login is no path")
	}
	_, err = w.CreateOrganization("guild")
	must(t, err)
	for what, err := range map[string]error{
		"a token for an organization": second(w.CreateToken("guild", nil)),
		"a team of nobody":            w.CreateTeam("none", "x"),
		"a team of strangers":         w.CreateTeam("guild", "x", "nobody"),
		"a grant to nobody":           w.Grant(repository, "nobody", devforge.RoleRead),
		"a repository that is none":   w.MakePublic("shop/none"),
		"another that is none":        w.DeleteBranchesOnMerge("shop/none"),
	} {
		if !errors.Is(err, devforge.ErrUnknown) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	two := devforge.Options{Dir: t.TempDir(), Users: map[string]string{"a": "same", "b": "same"}}
	if _, err := devforge.Start(t.Context(), two); err == nil {
		t.Error("a token tells who it is")
	}
}

func second[T any](_ T, err error) error { return err }

func TestHooksThatTakeForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	payloads := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		payloads <- r.PostFormValue("payload")
	}))
	t.Cleanup(server.Close)
	_, _, err := w.bob.Repositories.CreateHook(w.ctx(), owner, web, &github.Hook{Config: &github.HookConfig{URL: &server.URL}})
	must(t, err)
	w.delivered()
	if got := <-payloads; got != string(w.Deliveries()[0].Payload) {
		t.Errorf("the payload is a field of the form: got %q", got)
	}
}
