package devforge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

func (w *world) report(client *github.Client, sha, context, state, text string) error {
	_, _, err := client.Repositories.CreateStatus(w.ctx(), owner, web, sha, &github.RepoStatus{
		State: &state, Context: &context, Description: &text, TargetURL: new("http://localhost/run/1"),
	})
	return err
}

func TestACommitTakesAThousandStatusesOfAContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	sha := w.tip("main")
	for range 1000 {
		must(t, w.report(w.ada, sha, "ci", "pending", ""))
	}
	wantStatus(t, "one more", w.report(w.ada, sha, "ci", "success", ""), 422)
	must(t, w.report(w.ada, sha, "other", "success", ""))
}

// appClient signs in as an app's installation.
func (w *world) appClient(app devforge.App) (*github.Client, *github.InstallationToken) {
	w.t.Helper()
	signed := w.client(signJWT(w.t, app, w.now()))
	found, _, err := signed.Apps.FindRepositoryInstallation(w.ctx(), owner, web)
	must(w.t, err)
	token, _, err := signed.Apps.CreateInstallationToken(w.ctx(), found.GetID(), nil)
	must(w.t, err)
	return w.client(token.GetToken()), token
}

func (w *world) app(slug string) devforge.App {
	w.t.Helper()
	app, err := w.CreateApp(slug, nil)
	must(w.t, err)
	_, err = w.InstallApp(app.ID, owner)
	must(w.t, err)
	return app
}

func TestDeployments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	sha := w.tip("main")
	create := func(in github.DeploymentRequest) (*github.Deployment, error) {
		d, _, err := w.ada.Repositories.CreateDeployment(w.ctx(), owner, web, &in)
		return d, err
	}
	must(t, w.report(w.ada, sha, "ci", "failure", ""))
	_, err := create(github.DeploymentRequest{Ref: new("main")})
	wantStatus(t, "deploying what has failed", err, 409)
	first, err := create(github.DeploymentRequest{
		Ref: &sha, AutoMerge: new(false), RequiredContexts: &[]string{}, Environment: new("stage"),
	})
	must(t, err)
	second, err := create(github.DeploymentRequest{
		Ref: &sha, AutoMerge: new(false), RequiredContexts: &[]string{}, Environment: new("stage"),
	})
	must(t, err)
	say := func(d *github.Deployment, state, text string) error {
		_, _, err := w.ada.Repositories.CreateDeploymentStatus(w.ctx(), owner, web, d.GetID(), &github.DeploymentStatusRequest{
			State: &state, Description: &text,
		})
		return err
	}
	must(t, say(first, "in_progress", "batch 1"))
	must(t, say(first, "success", ""))
	must(t, say(second, "success", ""))
	wantStatus(t, "a state that is none", say(second, "done", ""), 422)
	wantStatus(t, "a description that is too long", say(second, "success", strings.Repeat("x", 141)), 422)
	statuses, _, err := w.ada.Repositories.ListDeploymentStatuses(w.ctx(), owner, web, first.GetID(), nil)
	must(t, err)
	var got []string
	for _, s := range statuses {
		got = append(got, s.GetState())
	}
	if diff := cmp.Diff([]string{"inactive", "success", "in_progress"}, got); diff != "" {
		t.Errorf("a later success makes the earlier deployment inactive (-want +got):\n%s", diff)
	}
	list, _, err := w.ada.Repositories.ListDeployments(w.ctx(), owner, web, &github.DeploymentsListOptions{Environment: "stage"})
	must(t, err)
	if len(list) != 2 || list[0].GetID() != second.GetID() {
		t.Errorf("deployments come newest first: got %v", list)
	}
}

func TestStatusesThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	sha := w.tip("main")
	tests := map[string]struct {
		reason, sha, state, text string
		want                     int
	}{
		"Longest": {"140 characters are taken", sha, "success", strings.Repeat("é", 140), 201},
		"Longer":  {"141 are not", sha, "success", strings.Repeat("e", 141), 422},
		"Emoji":   {"four bytes for a character are too many", sha, "success", "shipped \U0001F680", 422},
		"State":   {"the state is one of four", sha, "done", "", 422},
		"Commit":  {"the commit must be there", strings.Repeat("0", 40), "success", "", 422},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := w.report(w.ada, tc.sha, "ci", tc.state, tc.text)
			if tc.want == http.StatusCreated {
				must(t, err)
				return
			}
			wantStatus(t, tc.reason, err, tc.want)
		})
	}
	wantStatus(t, "a stranger's status", w.report(w.eve, sha, "ci", "success", ""), 404)
}
