package gitea_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/conformance"
	"github.com/sluice-dev/sluice/forge/connect"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/devgitea"
	"github.com/sluice-dev/sluice/internal/testbed/devgitea/giteatest"
)

// TestConformance holds the client to the rules that all clients keep, on a real Gitea.
func TestConformance(t *testing.T) {
	t.Parallel()
	server := giteatest.Start(t)
	f := &giteaForge{server: server, proxy: newProxy(t, server.URL()), tokens: map[string]string{}}
	for _, login := range []string{"ada", "grace", "eve"} {
		f.account(t, login)
	}
	conformance.Run(t, f)
	t.Run("hooks", f.showsHooks)
}

// showsHooks has an administrator of a repository see that its webhook sends what is needed.
func (f *giteaForge) showsHooks(t *testing.T) {
	t.Parallel()
	r, _ := f.New(t, "hooks").(*giteaRepository)
	r.Join("admin", "sluice")
	r.do("", http.MethodPost, "/hooks", map[string]any{
		"type": "gitea", "active": true, "events": []string{"push", "pull_request", "pull_request_review", "status"},
		"config": map[string]string{"url": "http://127.0.0.1:1/hooks/shop/shop", "content_type": "json", "secret": "secret"},
	}, nil)
	inspection, is := r.Client(t).(forge.Inspection)
	if !is {
		t.Fatal("want a client that inspects")
	}
	hooks, err := inspection.Hooks(t.Context())
	if err != nil || len(hooks) != 1 {
		t.Fatalf("want one webhook, got %v, %v", hooks, err)
	}
	for _, event := range []string{"push", "pull_request", "pull_request_review", "status", "check_run", "check_suite"} {
		if !slices.Contains(hooks[0].Events, event) {
			t.Errorf("want %s among the events, got %v", event, hooks[0].Events)
		}
	}
}

// proxy is between the clients and the server: it counts requests, and fails some.
type proxy struct {
	*httptest.Server

	mu       sync.Mutex
	requests map[string][]string
	faults   map[*fault]bool
}

type fault struct {
	token   string
	pattern *regexp.Regexp
	status  int
	hits    int
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{requests: map[string][]string{}, faults: map[*fault]bool{}}
	behind := httputil.NewSingleHostReverseProxy(target)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/api/v1/") {
			behind.ServeHTTP(w, r)
			return
		}
		hit := p.note(r)
		switch {
		case hit == nil:
			behind.ServeHTTP(w, r)
		case hit.status == 0: // it is carried out, and the answer is cut
			answer := httptest.NewRecorder()
			behind.ServeHTTP(answer, r)
			_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
		default:
			http.Error(w, `{"message":"as the test says"}`, hit.status)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

// note counts a request, and returns the fault that it hits.
func (p *proxy) note(r *http.Request) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.requests[token] = append(p.requests[token], r.Method+" "+r.URL.Path)
	for f := range p.faults {
		if f.token == token && f.pattern.MatchString(r.URL.Path) {
			f.hits++
			return f
		}
	}
	return nil
}

// giteaForge has the accounts of all cases.
type giteaForge struct {
	server *devgitea.Server
	proxy  *proxy
	mu     sync.Mutex
	tokens map[string]string
}

func (*giteaForge) Has() conformance.Abilities {
	return conformance.Abilities{Dismissals: true, Renames: true, Deletes: true, Forks: true, Faults: true}
}

func (*giteaForge) Domain() string { return "localhost.test" }

// account makes an account unless it is there.
func (f *giteaForge) account(t testing.TB, login string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tokens[login] != "" {
		return
	}
	token, err := f.server.CreateUser(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	f.tokens[login] = token
}

func (f *giteaForge) token(login string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tokens[login]
}

func (f *giteaForge) New(t testing.TB, name string) conformance.Repository {
	t.Helper()
	if err := f.server.CreateRepository(t.Context(), "shop", name, "main", map[string]string{"web.yaml": "image: web:1\n"}); err != nil {
		t.Fatal(err)
	}
	r := &giteaRepository{TB: t, giteaForge: f, name: name, us: "sluice-" + strings.ToLower(name)}
	r.Join(conformance.Write, r.us)
	return r
}

// giteaRepository is a repository, with an account of its own that the client acts as, so that
// requests can be told apart.
type giteaRepository struct {
	testing.TB
	*giteaForge

	name, us string
}

// login returns the account that the cases call so.
func (r *giteaRepository) login(name string) string {
	if name == "sluice" {
		return r.us
	}
	return name
}

// do sends a request about the repository as somebody, which must succeed.
func (r *giteaRepository) do(login, method, path string, in, out any) {
	r.Helper()
	token := ""
	if login != "" {
		token = r.token(r.login(login))
	}
	err := devgitea.Until(r.Context(), func(ctx context.Context) error {
		return r.server.Call(ctx, token, method, "/repos/shop/"+r.name+path, in, out)
	})
	if err != nil {
		r.Fatalf("as %s: %v", login, err)
	}
}

func (r *giteaRepository) Client(t testing.TB) forge.Client {
	t.Helper()
	networks := dialer.Rules{Allowed: dialer.Loopback()}
	clients := connect.New(connect.Common{
		AllowHTTP: true, Networks: networks, Git: gitrepo.NewReader(gitrepo.Options{AllowHTTP: true, Networks: networks}),
	})
	client, err := clients.Client(forge.Access{
		Type: forge.TypeGitea, BaseURL: r.proxy.URL, Owner: "shop", Repository: r.name, Secret: map[string][]byte{"token": []byte(r.token(r.us))},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (r *giteaRepository) Join(right conformance.Right, logins ...string) {
	r.Helper()
	for _, login := range logins {
		r.account(r.TB, r.login(login))
		r.do("", http.MethodPut, "/collaborators/"+r.login(login), map[string]string{"permission": string(right)}, nil)
	}
}

func (r *giteaRepository) Program(string) string { r.Fatal("there are no programs"); return "" }

func (r *giteaRepository) Rename(login, to string) {
	r.Helper()
	r.admin(http.MethodPost, "/admin/users/"+login+"/rename", map[string]string{"new_username": to})
}

func (r *giteaRepository) Delete(login string) {
	r.Helper()
	r.admin(http.MethodDelete, "/admin/users/"+login+"?purge=true", nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tokens, login)
}

func (r *giteaRepository) admin(method, path string, in any) {
	r.Helper()
	if err := r.server.Call(r.Context(), "", method, path, in, nil); err != nil {
		r.Fatal(err)
	}
}

func (r *giteaRepository) CloneURL(login string) string {
	return r.address("shop/"+r.name, r.login(login))
}

func (r *giteaRepository) address(path, login string) string {
	return strings.Replace(r.server.URL(), "://", "://"+login+":"+r.token(login)+"@", 1) + "/" + path + ".git"
}

func (r *giteaRepository) Fork(login string) string {
	r.Helper()
	r.do(login, http.MethodPost, "/forks", map[string]string{}, nil)
	return r.address(login+"/"+r.name, login)
}

func (r *giteaRepository) Open(login, head, base string) int {
	r.Helper()
	var opened struct{ Number int }
	r.do(login, http.MethodPost, "/pulls", map[string]string{"title": "Change", "head": head, "base": base}, &opened)
	return opened.Number
}

func (r *giteaRepository) Review(login string, number int, verdict conformance.Verdict) {
	r.Helper()
	event := map[conformance.Verdict]string{
		conformance.Approve: "APPROVED", conformance.RequestChanges: "REQUEST_CHANGES", conformance.Comment: "COMMENT",
	}[verdict]
	r.do(login, http.MethodPost, fmt.Sprintf("/pulls/%d/reviews", number), map[string]string{"event": event, "body": "See there."}, nil)
}

func (r *giteaRepository) Dismiss(login string, number int, reviewer string) {
	r.Helper()
	var reviews []struct {
		ID   int64
		User struct{ Login string }
	}
	r.do(login, http.MethodGet, fmt.Sprintf("/pulls/%d/reviews", number), nil, &reviews)
	for _, review := range reviews {
		if review.User.Login == reviewer {
			r.do(login, http.MethodPost, fmt.Sprintf("/pulls/%d/reviews/%d/dismissals", number, review.ID), map[string]string{"message": "No."}, nil)
		}
	}
}

// Merge waits until Gitea has checked the last push. A pull request that is merged before may get
// its own head for its merge base, and lists no files from then on.
func (r *giteaRepository) Merge(login string, number int, method conformance.Method) bool {
	r.Helper()
	err := devgitea.Until(r.Context(), func(ctx context.Context) error {
		var pull struct {
			Mergeable bool
			Head      struct{ SHA string }
		}
		var refs []struct{ Object struct{ SHA string } }
		at := "/repos/shop/" + r.name
		if err := r.server.Call(ctx, "", http.MethodGet, fmt.Sprintf("%s/git/refs/pull/%d/head", at, number), nil, &refs); err != nil {
			return err
		}
		if err := r.server.Call(ctx, "", http.MethodGet, fmt.Sprintf("%s/pulls/%d", at, number), nil, &pull); err != nil {
			return err
		}
		if !pull.Mergeable || len(refs) != 1 || refs[0].Object.SHA != pull.Head.SHA {
			return &devgitea.RefusedError{Status: http.StatusMethodNotAllowed}
		}
		return nil
	})
	if err != nil {
		r.Fatalf("wait for pull request %d: %v", number, err)
	}
	r.do(login, http.MethodPost, fmt.Sprintf("/pulls/%d/merge", number), map[string]string{"Do": string(method)}, nil)
	return true
}

func (r *giteaRepository) set(login string, number int, state string) {
	r.Helper()
	r.do(login, http.MethodPatch, fmt.Sprintf("/pulls/%d", number), map[string]string{"state": state}, nil)
}

func (r *giteaRepository) Close(login string, number int) { r.Helper(); r.set(login, number, "closed") }

func (r *giteaRepository) Reopen(login string, number int) { r.Helper(); r.set(login, number, "open") }

func (r *giteaRepository) Status(login, sha, name string, state forge.State) {
	r.Helper()
	r.do(login, http.MethodPost, "/statuses/"+sha, map[string]string{"state": string(state), "context": name}, nil)
}

func (r *giteaRepository) Pulls(branch string) int {
	r.Helper()
	var found []struct{ Head struct{ Label string } }
	r.do("", http.MethodGet, "/pulls?state=all&limit=50", nil, &found)
	count := 0
	for _, one := range found {
		if one.Head.Label == branch {
			count++
		}
	}
	return count
}

func (r *giteaRepository) Comments(number int) []string {
	r.Helper()
	var found []struct{ Body string }
	r.do("", http.MethodGet, fmt.Sprintf("/issues/%d/comments", number), nil, &found)
	var texts []string
	for _, one := range found {
		texts = append(texts, one.Body)
	}
	return texts
}

func (r *giteaRepository) Requests() (all, writes int) {
	r.proxy.mu.Lock()
	defer r.proxy.mu.Unlock()
	for _, request := range r.proxy.requests[r.token(r.us)] {
		all++
		if !strings.HasPrefix(request, http.MethodGet) {
			writes++
		}
	}
	return all, writes
}

func (r *giteaRepository) Fault(pattern string, status int) func() int {
	f := &fault{token: r.token(r.us), pattern: regexp.MustCompile(pattern), status: status}
	r.proxy.mu.Lock()
	defer r.proxy.mu.Unlock()
	r.proxy.faults[f] = true
	return func() int {
		r.proxy.mu.Lock()
		defer r.proxy.mu.Unlock()
		delete(r.proxy.faults, f)
		return f.hits
	}
}
