package gitlab_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/conformance"
	"github.com/sluice-dev/sluice/forge/connect"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/devlab"
)

// owner is a group in a group.
const owner = "shop/apps"

// TestConformance holds the client to the rules that all clients keep.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Run(t, newLab(t))
}

func newLab(t *testing.T) *lab {
	t.Helper()
	started, err := devlab.Start(t.Context(), t.TempDir(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	f := &lab{lab: started, tokens: map[string]string{}}
	for _, login := range []string{"sluice", "ada", "grace", "eve"} {
		f.account(t, login)
	}
	return f
}

// lab is a GitLab. It has the accounts of all cases.
type lab struct {
	lab    *devlab.Lab
	mu     sync.Mutex
	tokens map[string]string
}

func (*lab) Has() conformance.Abilities {
	return conformance.Abilities{Programs: true, Renames: true, Deletes: true, LateReviews: true, Forks: true, Faults: true}
}

func (*lab) Domain() string { return "localhost" }

// account makes an account unless it is there.
func (f *lab) account(t testing.TB, login string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tokens[login] != "" {
		return
	}
	token, err := f.lab.CreateUser(login)
	if err != nil {
		t.Fatal(err)
	}
	f.tokens[login] = token
}

func (f *lab) token(login string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tokens[login]
}

func (f *lab) New(t testing.TB, name string) conformance.Repository {
	t.Helper()
	return f.project(t, name)
}

func (f *lab) project(t testing.TB, name string) *project {
	t.Helper()
	p := &project{TB: t, lab: f, path: owner + "/" + name, us: "sluice-" + strings.ToLower(name)}
	p.must(f.lab.CreateProject(t.Context(), p.path, "main", fstest.MapFS{"web.yaml": {Data: []byte("image: web:1\n")}}))
	f.account(t, p.us)
	p.Join(conformance.Write, p.us, "sluice")
	return p
}

// project is a project, with an account of its own that the client acts as, so that requests can be
// told apart.
type project struct {
	testing.TB
	*lab

	path, us string
}

func (p *project) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *project) Client(t testing.TB) forge.Client {
	t.Helper()
	networks := dialer.Rules{Allowed: dialer.Loopback()}
	clients := connect.New(connect.Common{
		AllowHTTP: true, Networks: networks, Git: gitrepo.NewReader(gitrepo.Options{AllowHTTP: true, Networks: networks}),
	})
	client, err := clients.Client(forge.Access{
		Type: forge.TypeGitLab, BaseURL: p.lab.lab.URL(), Owner: owner, Repository: strings.TrimPrefix(p.path, owner+"/"),
		Secret: map[string][]byte{"token": []byte(p.token(p.us))},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (p *project) Join(right conformance.Right, logins ...string) {
	p.Helper()
	level := map[conformance.Right]int{
		conformance.None: devlab.NoAccess, conformance.Read: devlab.Reporter, conformance.Write: devlab.Developer, conformance.Admin: devlab.Maintainer,
	}[right]
	for _, login := range logins {
		p.account(p.TB, login)
		p.must(p.lab.lab.Grant(p.path, login, level))
	}
}

func (p *project) Program(name string) string {
	p.Helper()
	login := name + "-" + p.us
	token, err := p.lab.lab.CreateBot(login)
	p.must(err)
	p.mu.Lock()
	p.tokens[login] = token
	p.mu.Unlock()
	p.must(p.lab.lab.Grant(p.path, login, devlab.Developer))
	return login
}

func (p *project) Rename(login, to string) {
	p.Helper()
	p.must(p.lab.lab.Rename(login, to))
}

func (p *project) Delete(login string) {
	p.Helper()
	p.must(p.lab.lab.Delete(login))
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tokens, login)
}

func (p *project) Fork(login string) string {
	p.Helper()
	path, err := p.lab.lab.Fork(p.Context(), p.path, login)
	p.must(err)
	p.must(p.lab.lab.Grant(path, "ada", devlab.Developer))
	return p.address("ada", path)
}

func (p *project) CloneURL(login string) string {
	p.Helper()
	return p.address(p.as(login), p.path)
}

// as returns the account of the project for "sluice".
func (p *project) as(login string) string {
	if login == "sluice" {
		return p.us
	}
	return login
}

func (p *project) address(login, path string) string {
	p.Helper()
	at, err := url.Parse(p.lab.lab.URL() + "/" + path + ".git")
	p.must(err)
	at.User = url.UserPassword(login, p.token(login))
	return at.String()
}

// send sends a request of the API as somebody, which must succeed.
func (p *project) send(login, method, path string, body, into any) {
	p.Helper()
	if status := p.try(login, method, path, body, into); status >= http.StatusMultipleChoices {
		p.Fatalf("%s %s as %s: status %d", method, path, login, status)
	}
}

func (p *project) try(login, method, path string, body, into any) int {
	p.Helper()
	encoded, err := json.Marshal(body)
	p.must(err)
	at := p.lab.lab.URL() + "/api/v4/projects/" + strings.TrimSuffix(url.PathEscape(p.path)+"/"+path, "/")
	request, err := http.NewRequestWithContext(p.Context(), method, at, bytes.NewReader(encoded))
	p.must(err)
	request.Header.Set("Private-Token", p.token(p.as(login)))
	response, err := http.DefaultClient.Do(request)
	p.must(err)
	defer response.Body.Close()
	if into != nil && response.StatusCode < http.StatusMultipleChoices {
		p.must(json.NewDecoder(response.Body).Decode(into))
	}
	return response.StatusCode
}

type object = map[string]any

func (p *project) Open(login, head, base string) int {
	p.Helper()
	var opened struct {
		Number int `json:"iid"`
	}
	body := object{"title": "Change", "source_branch": head, "target_branch": base}
	if fork, branch, of := strings.Cut(head, ":"); of {
		var into struct{ ID int64 }
		p.send("ada", http.MethodGet, "", nil, &into)
		body["source_branch"], body["target_project_id"] = branch, into.ID
		from := *p
		from.path = fork + "/" + p.path[strings.LastIndex(p.path, "/")+1:]
		from.send(login, http.MethodPost, "merge_requests", body, &opened)
		return opened.Number
	}
	p.send(login, http.MethodPost, "merge_requests", body, &opened)
	return opened.Number
}

// Review approves, or takes an approval back: GitLab knows no other answer.
func (p *project) Review(login string, number int, verdict conformance.Verdict) {
	p.Helper()
	switch verdict {
	case conformance.Approve: // a second approval is refused
		p.try(login, http.MethodPost, fmt.Sprintf("merge_requests/%d/approve", number), object{}, nil)
	case conformance.RequestChanges:
		p.try(login, http.MethodPost, fmt.Sprintf("merge_requests/%d/unapprove", number), object{}, nil)
	case conformance.Comment:
		p.send(login, http.MethodPost, fmt.Sprintf("merge_requests/%d/notes", number), object{"body": "See there."}, nil)
	}
}

func (p *project) Dismiss(string, int, string) { p.Fatal("nobody takes an approval of another back") }

// Merge merges. A fast-forward is there only for what is on top of the target.
func (p *project) Merge(login string, number int, method conformance.Method) bool {
	p.Helper()
	if method == conformance.Rebase {
		p.must(p.lab.lab.SetMergeMethod(p.path, devlab.FastForward))
		status := p.try(login, http.MethodPut, fmt.Sprintf("merge_requests/%d/merge", number), object{}, nil)
		p.must(p.lab.lab.SetMergeMethod(p.path, devlab.MergeCommit))
		return status == http.StatusOK
	}
	p.send(login, http.MethodPut, fmt.Sprintf("merge_requests/%d/merge", number), object{"squash": method == conformance.Squash}, nil)
	return true
}

func (p *project) Close(login string, number int) {
	p.Helper()
	p.send(login, http.MethodPut, fmt.Sprintf("merge_requests/%d", number), object{"state_event": "close"}, nil)
}

func (p *project) Reopen(login string, number int) {
	p.Helper()
	p.send(login, http.MethodPut, fmt.Sprintf("merge_requests/%d", number), object{"state_event": "reopen"}, nil)
}

func (p *project) Status(login, sha, name string, state forge.State) {
	p.Helper()
	word := map[forge.State]string{forge.StatePending: "pending", forge.StateSuccess: "success", forge.StateFailure: "failed"}[state]
	p.send(login, http.MethodPost, "statuses/"+sha, object{"state": word, "name": name}, nil)
}

func (p *project) Pulls(branch string) int {
	p.Helper()
	var found []struct{}
	p.send("ada", http.MethodGet, "merge_requests?state=all&source_branch="+url.QueryEscape(branch), nil, &found)
	return len(found)
}

func (p *project) Comments(number int) []string {
	p.Helper()
	var found []struct{ Body string }
	p.send("ada", http.MethodGet, fmt.Sprintf("merge_requests/%d/notes", number), nil, &found)
	var texts []string
	for _, one := range found {
		texts = append(texts, one.Body)
	}
	return texts
}

func (p *project) Requests() (all, writes int) {
	for _, request := range p.lab.lab.Requests() {
		if request.API && request.User == p.us {
			all++
			if request.Method != http.MethodGet {
				writes++
			}
		}
	}
	return all, writes
}

func (p *project) Fault(pattern string, status int) func() int {
	return p.lab.lab.Inject(devlab.Fault{Status: status, User: p.us, Path: regexp.MustCompile(pattern)})
}
