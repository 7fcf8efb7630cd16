package github_test

import (
	"fmt"
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
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// TestConformance holds the client to the rules that all clients keep.
func TestConformance(t *testing.T) {
	t.Parallel()
	f := &githubForge{forge: forgetest.Start(t, devforge.Options{Dir: t.TempDir()}), tokens: map[string]string{}}
	for _, login := range []string{"sluice", "ada", "grace", "eve"} {
		f.account(t, login)
	}
	conformance.Run(t, f)
}

// githubForge is a forge that speaks GitHub's API. It has the accounts of all cases.
type githubForge struct {
	forge  *devforge.Forge
	mu     sync.Mutex
	tokens map[string]string
}

func (*githubForge) Has() conformance.Abilities {
	return conformance.Abilities{Programs: true, Dismissals: true, LateReviews: true, Faults: true}
}

func (*githubForge) Domain() string { return "localhost" }

// account makes an account unless it is there.
func (f *githubForge) account(t testing.TB, login string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tokens[login] != "" {
		return
	}
	if _, err := f.forge.CreateUser(login); err != nil {
		t.Fatal(err)
	}
	token, err := f.forge.CreateToken(login, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.tokens[login] = token
}

func (f *githubForge) token(login string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tokens[login]
}

func (f *githubForge) New(t testing.TB, name string) conformance.Repository {
	t.Helper()
	seed := fstest.MapFS{"web.yaml": {Data: []byte("image: web:1\n")}}
	if err := f.forge.CreateRepository(t.Context(), "shop/"+name, "main", seed); err != nil {
		t.Fatal(err)
	}
	r := &githubRepository{TB: t, githubForge: f, name: name, us: "sluice-" + strings.ToLower(name)}
	f.account(t, r.us)
	r.Join(conformance.Write, r.us, "sluice")
	return r
}

// githubRepository is a repository, with an account of its own that the client acts as, so that
// requests can be told apart.
type githubRepository struct {
	testing.TB
	*githubForge

	name, us string
}

func (r *githubRepository) as(login string) forgetest.User {
	if login == "sluice" {
		login = r.us
	}
	return forgetest.As(r.TB, r.forge, "shop/"+r.name, login, r.token(login))
}

func (r *githubRepository) Client(t testing.TB) forge.Client {
	t.Helper()
	networks := dialer.Rules{Allowed: dialer.Loopback()}
	clients := connect.New(connect.Common{
		AllowHTTP: true, Networks: networks, Git: gitrepo.NewReader(gitrepo.Options{AllowHTTP: true, Networks: networks}),
	})
	client, err := clients.Client(forge.Access{
		Type: forge.TypeGitHub, BaseURL: r.forge.URL(), Owner: "shop", Repository: r.name, Secret: map[string][]byte{"token": []byte(r.token(r.us))},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (r *githubRepository) Join(right conformance.Right, logins ...string) {
	r.Helper()
	role := map[conformance.Right]devforge.Role{
		conformance.None: devforge.RoleNone, conformance.Read: devforge.RoleRead, conformance.Write: devforge.RoleWrite, conformance.Admin: devforge.RoleAdmin,
	}[right]
	if right == conformance.Read {
		if err := r.forge.MakePublic("shop/" + r.name); err != nil {
			r.Fatal(err)
		}
	}
	for _, login := range logins {
		r.account(r.TB, login)
		if err := r.forge.Grant("shop/"+r.name, login, role); err != nil {
			r.Fatal(err)
		}
	}
}

func (r *githubRepository) Program(name string) string {
	r.Helper()
	app, err := r.forge.CreateApp(name+"-"+r.name, devforge.Permissions{"pull_requests": "write", "contents": "write"})
	if err != nil {
		r.Fatal(err)
	}
	installed, err := r.forge.InstallApp(app.ID, "shop")
	if err != nil {
		r.Fatal(err)
	}
	token, err := r.forge.CreateInstallationToken(app.ID, installed)
	if err != nil {
		r.Fatal(err)
	}
	login := name + "-" + r.name + "[bot]"
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens[login] = token
	return login
}

func (r *githubRepository) Rename(string, string) { r.Fatal("accounts have one name") }
func (r *githubRepository) Delete(string)         { r.Fatal("accounts stay") }
func (r *githubRepository) Fork(string) string    { r.Fatal("there are no forks"); return "" }

func (r *githubRepository) CloneURL(login string) string {
	r.Helper()
	if login == "sluice" {
		login = r.us
	}
	at, err := url.Parse(r.forge.CloneURL("shop/" + r.name))
	if err != nil {
		r.Fatal(err)
	}
	at.User = url.UserPassword(login, r.token(login))
	return at.String()
}

func (r *githubRepository) Open(login, head, base string) int {
	r.Helper()
	var opened struct{ Number int }
	r.as(login).Do(http.MethodPost, "pulls", map[string]string{"title": "Change", "head": head, "base": base}, &opened)
	return opened.Number
}

func (r *githubRepository) Review(login string, number int, verdict conformance.Verdict) {
	r.Helper()
	event := map[conformance.Verdict]string{
		conformance.Approve: "APPROVE", conformance.RequestChanges: "REQUEST_CHANGES", conformance.Comment: "COMMENT",
	}[verdict]
	r.as(login).Do(http.MethodPost, fmt.Sprintf("pulls/%d/reviews", number), map[string]string{"event": event, "body": "See there."}, nil)
}

func (r *githubRepository) Dismiss(login string, number int, reviewer string) {
	r.Helper()
	var reviews []struct {
		ID   int64
		User struct{ Login string }
	}
	r.as(login).Do(http.MethodGet, fmt.Sprintf("pulls/%d/reviews", number), nil, &reviews)
	for _, review := range reviews {
		if review.User.Login == reviewer {
			path := fmt.Sprintf("pulls/%d/reviews/%d/dismissals", number, review.ID)
			r.as(login).Do(http.MethodPut, path, map[string]string{"message": "No."}, nil)
		}
	}
}

func (r *githubRepository) Merge(login string, number int, method conformance.Method) bool {
	r.Helper()
	r.as(login).Merge(int64(number), string(method))
	return true
}

func (r *githubRepository) set(login string, number int, state string) {
	r.Helper()
	r.as(login).Do(http.MethodPatch, fmt.Sprintf("pulls/%d", number), map[string]string{"state": state}, nil)
}

func (r *githubRepository) Close(login string, number int) {
	r.Helper()
	r.set(login, number, "closed")
}

func (r *githubRepository) Reopen(login string, number int) { r.Helper(); r.set(login, number, "open") }

func (r *githubRepository) Status(login, sha, name string, state forge.State) {
	r.Helper()
	r.as(login).Do(http.MethodPost, "statuses/"+sha, map[string]string{"state": string(state), "context": name}, nil)
}

func (r *githubRepository) Pulls(branch string) int {
	r.Helper()
	var found []struct{}
	r.as("ada").Do(http.MethodGet, "pulls?state=all&head="+url.QueryEscape("shop:"+branch), nil, &found)
	return len(found)
}

func (r *githubRepository) Comments(number int) []string {
	r.Helper()
	var found []struct{ Body string }
	r.as("ada").Do(http.MethodGet, fmt.Sprintf("issues/%d/comments", number), nil, &found)
	var texts []string
	for _, one := range found {
		texts = append(texts, one.Body)
	}
	return texts
}

func (r *githubRepository) Requests() (all, writes int) {
	for _, request := range r.forge.Requests() {
		if request.API && request.User == r.us {
			all++
			if request.Method != http.MethodGet {
				writes++
			}
		}
	}
	return all, writes
}

func (r *githubRepository) Fault(pattern string, status int) func() int {
	fault := devforge.Fault{Kind: devforge.FaultStatus, Status: status, User: r.us, Path: regexp.MustCompile(pattern)}
	if status == 0 {
		fault.Kind = devforge.FaultMalformed
	}
	return r.forge.Inject(fault)
}
