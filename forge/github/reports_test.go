package github_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

func (w *world) status(login, sha, name string, state forge.State) {
	w.t.Helper()
	_, _, err := w.as(login).Repositories.CreateStatus(w.t.Context(), "shop", "web", sha,
		&gogithub.RepoStatus{Context: &name, State: new(string(state))})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) statuses(sha, name string) []forge.Status {
	w.t.Helper()
	statuses, err := w.client.CommitStatuses(w.t.Context(), sha, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return statuses
}

func TestCommitStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := w.tip("main")
	if got := w.statuses(sha, "ci/smoke"); len(got) != 0 {
		t.Errorf("nothing posted must be an empty list: got %v", got)
	}
	w.status("ada", sha, "ci/smoke", forge.StateSuccess)
	w.status("eve", sha, "CI/Smoke", forge.StateFailure)
	w.status("ada", sha, "ci/smoke/other", forge.StateSuccess)
	var got []string
	for _, s := range w.statuses(sha, "ci/smoke") {
		got = append(got, fmt.Sprint(s.Context, " ", s.State, " ", s.Creator.Login, " ", s.Creator.Known(), " ", s.SHA == sha))
	}
	want := []string{"CI/Smoke failure eve true true", "ci/smoke success ada true true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contexts differ not in case alone, and the newest is first (-want +got):\n%s", diff)
	}
}

func TestCommitStatusesOfABusyCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := w.tip("main")
	w.status("ada", sha, "ci", forge.StateSuccess)
	for range 150 {
		w.status("sluice", sha, "sluice/shop/web", forge.StatePending)
	}
	if got := w.statuses(sha, "ci"); len(got) != 1 {
		t.Errorf("a status must be found behind many others: got %v", got)
	}
	asked := w.asked(func(context.Context) { w.statuses(sha, "sluice/shop/web") })
	if len(asked) != 1 {
		t.Errorf("reading must end with the full page that holds the newest: got %v", asked)
	}
	off := w.inject(devforge.FaultPartialPage, "GET /commits/"+sha+"/statuses")
	_, err := w.newClient().CommitStatuses(t.Context(), sha, "sluice/shop/web")
	wantKind(t, err, forge.Transient, "what is missing may take back what is there")
	off()
}

// TestCommitStatusesOfCertainCreators: Anyone who may write can post as many statuses in a context
// as they like. The one that counts must be found behind them all.
func TestCommitStatusesOfCertainCreators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := w.tip("main")
	w.status("ada", sha, "ci", forge.StateFailure)
	w.status("ada", sha, "ci", forge.StateSuccess)
	for range 210 {
		w.status("eve", sha, "CI", forge.StateError)
	}
	people, err := w.client.Accounts(t.Context(), "ada", "bob", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	newest := func(creators ...forge.Account) forge.State {
		t.Helper()
		statuses, err := w.client.CommitStatuses(t.Context(), sha, "ci", creators...)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(statuses, func(s forge.Status) bool { return slices.ContainsFunc(creators, s.Creator.Same) })
		if at < 0 {
			return ""
		}
		return statuses[at].State
	}
	if got := newest(people...); got != forge.StateSuccess {
		t.Errorf("the newest of those who count must be there: got %q", got)
	}
	if got := newest(people[1:]...); got != "" {
		t.Errorf("who has posted nothing must not be found: got %q", got)
	}
	if asked := w.asked(func(ctx context.Context) { w.statuses(sha, "ci") }); len(asked) != 1 {
		t.Errorf("where anybody counts one page is enough: got %v", asked)
	}
}

func TestPostStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := forge.StatusRequest{
		SHA: w.tip("main"), Context: "sluice/shop/web", State: forge.StatePending,
		Description: strings.Repeat("3/10 updated 🎉 ", 20), TargetURL: "http://127.0.0.1/web",
	}
	off := w.forge.Inject(devforge.Fault{Kind: devforge.FaultLostAnswer, Method: "POST", Times: 1})
	_, err := w.client.PostStatus(t.Context(), r)
	wantKind(t, err, forge.Transient, "the answer was lost")
	off()
	posted, err := w.client.PostStatus(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if posted.Description != forge.Description(r.Description) || posted.TargetURL != r.TargetURL || posted.Creator.Login != "sluice" {
		t.Errorf("it must be posted as asked, in what the forge takes: got %+v", posted)
	}
	if newest := w.statuses(r.SHA, r.Context)[0]; newest != posted {
		t.Errorf("it must be there: got %+v, want %+v", newest, posted)
	}
	r.SHA = someCommit
	_, err = w.client.PostStatus(t.Context(), r)
	wantKind(t, err, forge.Invalid, "there is no such commit")
}

// app returns a client with a token of the app's installation.
func (w *world) app(slug string) *gogithub.Client {
	w.t.Helper()
	app, err := w.forge.CreateApp(slug, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.forge.InstallApp(app.ID, "shop"); err != nil {
		w.t.Fatal(err)
	}
	return w.byApp(app)
}

func (w *world) check(as *gogithub.Client, sha, name, conclusion string) {
	w.t.Helper()
	opts := gogithub.CreateCheckRunOptions{Name: name, HeadSHA: sha, Status: new("in_progress")}
	if conclusion != "" {
		opts.Status, opts.Conclusion = new("completed"), &conclusion
	}
	if _, _, err := as.Checks.CreateCheckRun(w.t.Context(), "shop", "web", opts); err != nil {
		w.t.Fatal(err)
	}
}

func TestCheckRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := w.tip("main")
	actions, other := w.app("github-actions"), w.app("other")
	w.check(actions, sha, "e2e", "failure")
	w.check(actions, sha, "e2e", "success")
	w.check(actions, sha, "unit", "failure")
	w.check(other, sha, "e2e", "")
	list := func(name, app string) []string {
		t.Helper()
		runs, err := w.client.CheckRuns(t.Context(), sha, name, app)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, r := range runs {
			if r.ID == 0 || r.App.ID == 0 || r.HeadSHA != sha {
				t.Errorf("a run must be told with its ids: got %+v", r)
			}
			lines = append(lines, fmt.Sprint(r.App.Slug, " ", r.Name, " ", r.Status, " ", r.Conclusion))
		}
		return lines
	}
	if diff := cmp.Diff([]string{"github-actions e2e completed success"}, list("e2e", "github-actions")); diff != "" {
		t.Errorf("only the latest run of the app counts (-want +got):\n%s", diff)
	}
	if runs, err := w.client.CheckRuns(t.Context(), sha, "e2e", ""); err != nil || runs[0].Branch != "" || runs[1].Branch != "main" {
		t.Errorf("the branch that workflows ran for must be known, and that of other apps is not asked for: got %+v, %v", runs, err)
	}
	if got := list("e2e", ""); len(got) != 2 {
		t.Errorf("without an app all apps' runs are there: got %v", got)
	}
	if got := list("E2E", ""); len(got) != 0 {
		t.Errorf("the name of a check is exact: got %v", got)
	}
	if got := list("missing", "github-actions"); len(got) != 0 {
		t.Errorf("nothing run must be an empty list: got %v", got)
	}
}

func TestCheckRunsThatAreNotAll(t *testing.T) {
	t.Parallel()
	s := serve(t, answering(http.StatusOK, `{"total_count":2,"check_runs":[{"id":1,"name":"e2e","conclusion":"success"}]}`))
	_, err := clientOf(t, s.URL).CheckRuns(t.Context(), someCommit, "e2e", "")
	wantKind(t, err, forge.Transient, "the run that is missing may have failed")
}

func TestOpenDeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := forge.DeploymentRequest{SHA: w.tip("main"), Task: "sluice:shop/web", Environment: "stage", Description: "web"}
	off := w.forge.Inject(devforge.Fault{Kind: devforge.FaultLostAnswer, Method: "POST", Times: 1})
	_, err := w.client.OpenDeployment(t.Context(), r)
	wantKind(t, err, forge.Transient, "the answer was lost")
	off()
	first, err := w.client.OpenDeployment(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	other := r
	other.Task = "sluice:shop/api"
	second, err := w.client.OpenDeployment(t.Context(), other)
	if err != nil || second.ID == first.ID {
		t.Errorf("each release has its own: got %+v and %+v, %v", first, second, err)
	}
	all, _, err := w.as("ada").Repositories.ListDeployments(t.Context(), "shop", "web", nil)
	if err != nil || len(all) != 2 {
		t.Errorf("a lost answer must not make a second: got %d, %v", len(all), err)
	}
	for _, state := range []forge.DeploymentState{forge.DeploymentInProgress, forge.DeploymentSuccess} {
		err := w.client.PostDeploymentStatus(t.Context(), forge.DeploymentStatusRequest{
			DeploymentID: first.ID, State: state, Description: strings.Repeat("long ", 100),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err = w.client.PostDeploymentStatus(t.Context(), forge.DeploymentStatusRequest{DeploymentID: second.ID, State: forge.DeploymentSuccess})
	if err != nil {
		t.Fatal(err)
	}
	states, _, err := w.as("ada").Repositories.ListDeploymentStatuses(t.Context(), "shop", "web", first.ID, nil)
	if err != nil || len(states) != 2 || states[0].GetState() != "success" {
		t.Errorf("the states must be there, newest first, and the success of another release must end none: got %v, %v", states, err)
	}
}
