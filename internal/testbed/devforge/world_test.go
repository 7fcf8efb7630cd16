package devforge_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// The repository of the tests, in two parts.
const owner, web = "shop", "web"

// world is a forge with a repository that ada and bob may write to and eve may not see.
type world struct {
	*devforge.Forge

	t        *testing.T
	tokens   map[string]string
	ada, bob *github.Client
	eve      *github.Client
}

func newWorld(t *testing.T, opts devforge.Options) *world {
	t.Helper()
	w := &world{Forge: forgetest.Start(t, opts), t: t, tokens: map[string]string{}}
	seed := fstest.MapFS{"deploy/app.yaml": {Data: []byte("one\n")}, "README": {Data: []byte("read\n")}}
	must(t, w.CreateRepository(t.Context(), repository, "main", seed))
	for _, user := range []string{"ada", "bob", "eve"} {
		_, err := w.CreateUser(user)
		must(t, err)
		w.tokens[user], err = w.CreateToken(user, nil)
		must(t, err)
	}
	must(t, w.Grant(repository, "ada", devforge.RoleWrite))
	must(t, w.Grant(repository, "bob", devforge.RoleAdmin))
	w.ada, w.bob, w.eve = w.client(w.tokens["ada"]), w.client(w.tokens["bob"]), w.client(w.tokens["eve"])
	return w
}

func (w *world) ctx() context.Context { return w.t.Context() }

// client returns go-github as it is used with GitHub Enterprise Server.
func (w *world) client(token string) *github.Client {
	client, err := github.NewClient(nil).WithAuthToken(token).WithEnterpriseURLs(w.URL(), w.URL())
	must(w.t, err)
	return client
}

// cloneAs clones with a user's token, or with that of an app.
func (w *world) cloneAs(token string) string {
	url := strings.Replace(w.CloneURL(repository), "http://", "http://x-access-token:"+token+"@", 1)
	return cloneOf(w.t, url)
}

// push commits a file on a branch and pushes it, and gives the commit.
func (w *world) push(clone, branch, file, content string) string {
	w.t.Helper()
	git(w.t, clone, "checkout", "--quiet", "-B", branch)
	writeFile(w.t, clone, file, []byte(content))
	git(w.t, clone, "add", "--all")
	git(w.t, clone, "commit", "--quiet", "--message=write "+file)
	git(w.t, clone, "push", "--quiet", "origin", branch)
	return git(w.t, clone, "rev-parse", "HEAD")
}

// open pushes a branch of one commit and opens a pull request for it.
func (w *world) open(clone, branch string) *github.PullRequest {
	w.t.Helper()
	git(w.t, clone, "checkout", "--quiet", "-B", branch, "origin/main")
	w.push(clone, branch, branch+".txt", branch+"\n")
	return w.openPull(branch)
}

func (w *world) openPull(branch string) *github.PullRequest {
	w.t.Helper()
	pull, _, err := w.ada.PullRequests.Create(w.ctx(), owner, web, &github.NewPullRequest{
		Title: new("Add " + branch), Head: &branch, Base: new("main"), Body: new("why"),
	})
	must(w.t, err)
	return pull
}

// tip returns the commit of a branch, as git sees it.
func (w *world) tip(branch string) string {
	w.t.Helper()
	url := strings.Replace(w.CloneURL(repository), "http://", "http://x:"+w.tokens["bob"]+"@", 1)
	sha, _, _ := strings.Cut(git(w.t, ".", "ls-remote", url, "refs/heads/"+branch), "\t")
	return sha
}

// do sends a request as it is, as ada unless the header says otherwise.
func (w *world) do(method, path, body string, header http.Header) reply {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.ctx(), method, w.URL()+path, strings.NewReader(body))
	must(w.t, err)
	r.Header.Set("Authorization", "Bearer "+w.tokens["ada"])
	maps.Copy(r.Header, header)
	resp, err := http.DefaultTransport.RoundTrip(r)
	must(w.t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	must(w.t, err)
	return reply{status: resp.StatusCode, header: resp.Header, body: got}
}

// reply is an answer that has been read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
