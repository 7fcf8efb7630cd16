package github_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

const (
	recordPath = ".sluice/approvals/shop/web.yaml"
	content    = "nonce: one\n"
)

// world is a forge with a repository, us, and people who release.
type world struct {
	t      *testing.T
	forge  *devforge.Forge
	client *github.Client
}

// newWorld starts a forge with the repository shop/web. We are sluice; ada, bob and eve are people.
func newWorld(t *testing.T, change ...func(*github.Options)) *world {
	t.Helper()
	started, err := devforge.Start(t.Context(), devforge.Options{
		Dir:    t.TempDir(),
		Users:  map[string]string{"sluice": "ghp_sluice", "ada": "ghp_ada", "bob": "ghp_bob", "eve": "ghp_eve"},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Errorf("close forge: %v", err)
		}
	})
	seed := fstest.MapFS{"deploy/web.yaml": {Data: []byte("image: one\n")}}
	if err := started.CreateRepository(t.Context(), "shop/web", "main", seed); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, forge: started}
	w.client = w.newClient(change...)
	return w
}

// newClient returns a client that knows nothing yet, as after a restart.
func (w *world) newClient(change ...func(*github.Options)) *github.Client {
	w.t.Helper()
	as := func(o *github.Options) { o.Token = "ghp_sluice" }
	return clientOf(w.t, w.forge.URL(), append([]func(*github.Options){as}, change...)...)
}

// as returns a client of the API for a person.
func (w *world) as(login string) *gogithub.Client {
	w.t.Helper()
	client, err := gogithub.NewClient(nil).WithAuthToken("ghp_"+login).WithEnterpriseURLs(w.forge.APIURL(), w.forge.APIURL())
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// request returns an approval of that name.
func request(name string) forge.ChangeRequest {
	return forge.ChangeRequest{
		Branch: forge.BranchPrefix + name, Base: "main", Path: recordPath, Content: []byte(content + "name: " + name + "\n"),
		Message: "Approve " + name, Title: "Approve " + name, Body: "Merging lets the next batch go.\n",
	}
}

// first returns a request that nobody has made before, as it is known from Git where the branch is.
func (w *world) first(name string) forge.ChangeRequest {
	w.t.Helper()
	r := request(name)
	r.First, r.Tip = true, w.tip(r.Base)
	commit, _, err := w.as("ada").Git.GetCommit(w.t.Context(), "shop", "web", r.Tip)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Tree = commit.GetTree().GetSHA()
	return r
}

func (w *world) open(r forge.ChangeRequest) forge.PullRequest {
	w.t.Helper()
	pull, err := w.client.OpenChange(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return pull
}

func (w *world) merge(login string, number int, method string) string {
	w.t.Helper()
	done, _, err := w.as(login).PullRequests.Merge(w.t.Context(), "shop", "web", number, "", &gogithub.PullRequestOptions{MergeMethod: method})
	if err != nil {
		w.t.Fatal(err)
	}
	return done.GetSHA()
}

func (w *world) review(login string, number int, event string) *gogithub.PullRequestReview {
	w.t.Helper()
	done, _, err := w.as(login).PullRequests.CreateReview(w.t.Context(), "shop", "web", number,
		&gogithub.PullRequestReviewRequest{Event: &event, Body: new("see there")})
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

func (w *world) setState(login string, number int, state string) {
	w.t.Helper()
	_, _, err := w.as(login).PullRequests.Edit(w.t.Context(), "shop", "web", number, &gogithub.PullRequest{State: &state})
	if err != nil {
		w.t.Fatal(err)
	}
}

// write commits a file to a branch.
func (w *world) write(login, branch, path, data string) string {
	w.t.Helper()
	ctx, as := w.t.Context(), w.as(login)
	opts := &gogithub.RepositoryContentFileOptions{Message: new("Write " + path), Content: []byte(data), Branch: &branch}
	known, _, _, err := as.Repositories.GetContents(ctx, "shop", "web", path, &gogithub.RepositoryContentGetOptions{Ref: branch})
	if err == nil {
		opts.SHA = known.SHA
	}
	done, _, err := as.Repositories.UpdateFile(ctx, "shop", "web", path, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return done.GetSHA()
}

func (w *world) tip(branch string) string {
	w.t.Helper()
	ref, _, err := w.as("ada").Git.GetRef(w.t.Context(), "shop", "web", "heads/"+branch)
	if err != nil {
		w.t.Fatal(err)
	}
	return ref.GetObject().GetSHA()
}

// pulls returns all pull requests of a branch.
func (w *world) pulls(branch string) []*gogithub.PullRequest {
	w.t.Helper()
	pulls, _, err := w.as("ada").PullRequests.List(w.t.Context(), "shop", "web",
		&gogithub.PullRequestListOptions{State: "all", Head: "shop:" + branch})
	if err != nil {
		w.t.Fatal(err)
	}
	return pulls
}

// asked returns the API requests that act has the client send.
func (w *world) asked(act func(context.Context)) []string {
	w.t.Helper()
	w.forge.ForgetRequests()
	act(w.t.Context())
	var asked []string
	for _, r := range w.forge.Requests() {
		if r.User == "sluice" || strings.HasSuffix(r.User, "[bot]") {
			asked = append(asked, r.Method+" "+strings.TrimPrefix(r.Path, "/api/v3/repos/shop/web"))
		}
	}
	return asked
}

func writes(asked []string) []string {
	var found []string
	for _, r := range asked {
		if !strings.HasPrefix(r, http.MethodGet) {
			found = append(found, r)
		}
	}
	return found
}
