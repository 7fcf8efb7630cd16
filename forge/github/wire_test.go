package github_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/dialer"
)

func TestEachErrorHasItsKind(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		want   forge.Kind
	}{
		"Unauthorised": {http.StatusUnauthorized, forge.Unauthorised},
		"Forbidden":    {http.StatusForbidden, forge.Forbidden},
		"NotFound":     {http.StatusNotFound, forge.NotFound},
		"Gone":         {http.StatusGone, forge.NotFound},
		"Conflict":     {http.StatusConflict, forge.Conflict},
		"Invalid":      {http.StatusUnprocessableEntity, forge.Invalid},
		"BadRequest":   {http.StatusBadRequest, forge.Invalid},
		"Legal":        {http.StatusUnavailableForLegalReasons, forge.Invalid},
		"Slow":         {http.StatusRequestTimeout, forge.Transient},
		"Accepted":     {http.StatusAccepted, forge.Transient},
		"Broken":       {http.StatusInternalServerError, forge.Transient},
		"Gateway":      {http.StatusBadGateway, forge.Transient},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answering(tc.status, `{"message":"Because"}`))
			_, err := clientOf(t, s.URL).Repository(t.Context())
			wantKind(t, err, tc.want, "the caller must be able to tell what to do")
			if !strings.HasPrefix(err.Error(), "read repository shop/web: ") {
				t.Errorf("an error must say what was tried: %v", err)
			}
		})
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	s := serve(t, answering(http.StatusUnprocessableEntity, `{"message":"Validation Failed","errors":[`+
		`{"resource":"Status","field":"state","code":"missing_field"},{"message":"and\nmore"}]}`))
	_, err := clientOf(t, s.URL).PostStatus(t.Context(), forge.StatusRequest{SHA: someCommit, Context: "x"})
	want := "post status x on commit " + someCommit + ": 422 Validation Failed: state is missing_field: and more"
	if err == nil || err.Error() != want {
		t.Errorf("a refusal must say all that the forge said:\n got %v\nwant %s", err, want)
	}
}

func TestAnswersThatMakeNoSenseAreErrors(t *testing.T) {
	t.Parallel()
	huge := `["` + strings.Repeat("a", 9<<20) + `"]`
	tests := map[string]struct{ reason, body string }{
		"Empty":  {"an empty answer is no empty list", ""},
		"Null":   {"null is no empty list", "null"},
		"HTML":   {"a proxy's page is no answer", "<html></html>"},
		"Cut":    {"half an answer is none", `[{"id":1},{"id"`},
		"Object": {"an object is no list", `{"message":"hello"}`},
		"Huge":   {"memory is bounded", huge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answering(http.StatusOK, tc.body))
			_, err := clientOf(t, s.URL).CommitStatuses(t.Context(), someCommit, "ci")
			wantKind(t, err, forge.Transient, tc.reason)
		})
	}
}

// TestPullRequestWithMoreThanTheForgeShows: an error that no retry can fix must not look
// temporary. A temporary error stops requests to the forge for a while, so that one author of an
// approval's branch would hold up all others.
func TestPullRequestWithMoreThanTheForgeShows(t *testing.T) {
	t.Parallel()
	for name, counts := range map[string]string{"Files": `"changed_files":3001,"commits":1`, "Commits": `"changed_files":0,"commits":251`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/pulls/1"):
					fmt.Fprintf(w, `{"number":1,"merged":true,"merged_at":"2026-01-01T00:00:00Z","merge_commit_sha":%q,%s}`, someCommit, counts)
				case strings.Contains(r.URL.Path, "/pulls/1/"):
					fmt.Fprint(w, "[]")
				default:
					fmt.Fprint(w, `{"id":1}`)
				}
			})
			_, err := clientOf(t, s.URL).ReadApproval(t.Context(), forge.ApprovalQuery{Number: 1, Tip: someCommit, Reviews: true, Commits: true})
			wantKind(t, err, forge.Invalid, "there is more than can be read")
		})
	}
}

func TestEndlessListIsAnError(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=2>; rel="next"`, r.Host, r.URL.Path))
		fmt.Fprint(w, `[{"context":"other"}]`)
	})
	_, err := clientOf(t, s.URL).CommitStatuses(t.Context(), someCommit, "ci")
	wantKind(t, err, forge.Invalid, "a list that is cut must not look whole, and it does not get shorter")
	if s.count() > 100 {
		t.Errorf("a list that does not end must not be read for ever: got %d requests", s.count())
	}
}

// TestFullPageIsNotTheLast: an answer that came from memory names no page that came into being
// since.
func TestFullPageIsNotTheLast(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("per_page") == "1":
			w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=101>; rel="last"`, r.Host, r.URL.Path))
			fmt.Fprint(w, `[{"context":"other"}]`)
		case q.Get("page") == "2":
			fmt.Fprint(w, `[{"id":1,"context":"ci"}]`)
		default:
			fmt.Fprintf(w, `[%s{"context":"other"}]`, strings.Repeat(`{"context":"other"},`, 99))
		}
	})
	statuses, err := clientOf(t, s.URL).CommitStatuses(t.Context(), someCommit, "ci")
	if err != nil || len(statuses) != 1 {
		t.Errorf("the page after a full one must be read: got %v, %v", statuses, err)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"Hang": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"HangInBody": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"id":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answer)
			client := clientOf(t, s.URL, func(o *github.Options) { o.Timeout = 50 * time.Millisecond })
			_, err := client.Repository(t.Context())
			wantKind(t, err, forge.Transient, "a server that does not answer must be tried again")
		})
	}
}

func TestCallersContextIsItsOwn(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := clientOf(t, s.URL).Repository(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || forge.KindOf(err) != "" {
		t.Errorf("the end of the caller's context must be told as that: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, answering(http.StatusOK, `{"id":7}`))
	tests := map[string]struct {
		reason string
		answer http.HandlerFunc
		try    func(context.Context, *github.Client) error
		want   forge.Kind
	}{
		"OtherHost": {
			"credentials must go to no other host", redirect(http.StatusTemporaryRedirect, elsewhere.URL+"/x"), readRepository, forge.Transient,
		},
		"SameHost": {
			"a repository that was renamed must be found", redirect(http.StatusMovedPermanently, "/api/v3/repositories/7"), readRepository, "",
		},
		"Loop": {
			"a loop must end", redirect(http.StatusMovedPermanently, "/api/v3/repos/shop/web"), readRepository, forge.Transient,
		},
		"PostBecomesGet": {
			"a write that became a read must not look done", redirect(http.StatusFound, "/api/v3/repositories/7"), postStatus, forge.Transient,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tc.answer)
			err := tc.try(t.Context(), clientOf(t, s.URL))
			wantKind(t, err, tc.want, tc.reason)
		})
	}
	t.Cleanup(func() {
		if elsewhere.count() > 0 {
			t.Error("no request may reach another host")
		}
	})
}

func redirect(status int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v3/repositories/7" {
			fmt.Fprint(w, `{"id":7,"full_name":"shop/site"}`)
			return
		}
		http.Redirect(w, r, to, status)
	}
}

func readRepository(ctx context.Context, c *github.Client) error {
	_, err := c.Repository(ctx)
	return err
}

func postStatus(ctx context.Context, c *github.Client) error {
	_, err := c.PostStatus(ctx, forge.StatusRequest{SHA: someCommit, Context: "x", State: forge.StatePending})
	return err
}

func TestErrorsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.c2lnbmF0dXJl"
	secrets := []string{
		"hunter2-legacy-token", "ghs_16C7e42F292c6912E7710c838347Ae178B4a", "github_pat_11AAAAAAA0_abc",
		"ghs_123_" + jwt, jwt, "user:pass",
	}
	message := fmt.Sprintf("bad %s, %s, %s, %s, %s at https://%s@example.com/ %s",
		secrets[0], secrets[1], secrets[2], secrets[3], secrets[4], secrets[5], strings.Repeat("long ", 200))
	s := serve(t, answering(http.StatusUnauthorized, fmt.Sprintf(`{"message":%q}`, message)))
	client := clientOf(t, s.URL, func(o *github.Options) { o.Token = secrets[0] })
	_, err := client.Repository(t.Context())
	wantKind(t, err, forge.Unauthorised, "a refused token")
	for _, secret := range secrets {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("no secret may be said: %q is in %q", secret, err)
		}
	}
	if len(err.Error()) > 700 {
		t.Errorf("a server must not fill our status: got %d bytes", len(err.Error()))
	}
}

func TestBrokenConnectionsAreTransient(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := clientOf(t, s.URL).Repository(t.Context())
	wantKind(t, err, forge.Transient, "nobody listens")
}

func TestOptionsThatCannotWork(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*github.Options){
		"NoOwner":       func(o *github.Options) { o.Owner = "" },
		"OwnerIsPath":   func(o *github.Options) { o.Owner = "../x" },
		"NoRepository":  func(o *github.Options) { o.Repository = "" },
		"DotDot":        func(o *github.Options) { o.Repository = ".." },
		"NobodyAtAll":   func(o *github.Options) { o.Token = "" },
		"TwoIdentities": func(o *github.Options) { o.App = &github.App{ID: 1} },
		"NoKey":         func(o *github.Options) { o.Token, o.App = "", &github.App{ID: 1, PrivateKey: []byte("none")} },
		"LargeKey":      func(o *github.Options) { o.Token, o.App = "", &github.App{ID: 1, PrivateKey: largeKey(t)} },
		"PlainHTTP":     func(o *github.Options) { o.BaseURL = "http://github.example.com" },
		"PlainEvenSo":   func(o *github.Options) { o.BaseURL, o.AllowHTTP = "http://github.example.com", true },
		"PlainLoopback": func(o *github.Options) { o.BaseURL = "http://127.0.0.1" },
		"PlainHere":     func(o *github.Options) { o.BaseURL = "http://localhost:8080" },
		"NoHost":        func(o *github.Options) { o.BaseURL = "https:///api" },
		"Userinfo":      func(o *github.Options) { o.BaseURL = "https://me:secret@github.example.com" },
		"NoURL":         func(o *github.Options) { o.BaseURL = "https://%zz" },
		"NoCertificate": func(o *github.Options) { o.CABundle = []byte("none") },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := github.Options{Owner: "shop", Repository: "web", Token: "ghp_ours"}
			change(&opts)
			_, err := github.New(opts)
			wantKind(t, err, forge.Misconfigured, "only a change of the options can help")
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("no secret may be said: %v", err)
			}
		})
	}
}

// recorder answers each request and keeps its address.
type recorder struct{ url string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.url = req.URL.String()
	w := httptest.NewRecorder()
	w.WriteString(`{"id":1}`)
	return w.Result(), nil
}

func TestAddressOfTheAPI(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"":                                    "https://api.github.com/repos/shop/web",
		"https://github.com":                  "https://api.github.com/repos/shop/web",
		"https://api.github.com/":             "https://api.github.com/repos/shop/web",
		"https://github.example.com":          "https://github.example.com/api/v3/repos/shop/web",
		"https://github.example.com/api/v3":   "https://github.example.com/api/v3/repos/shop/web",
		"https://github.example.com/api/v3//": "https://github.example.com/api/v3/repos/shop/web",
		"https://api.shop.ghe.com":            "https://api.shop.ghe.com/repos/shop/web",
	}
	for given, want := range tests {
		t.Run(given, func(t *testing.T) {
			t.Parallel()
			seen := &recorder{}
			client := clientOf(t, given, func(o *github.Options) { o.Transport = seen })
			if _, err := client.Repository(t.Context()); err != nil {
				t.Fatal(err)
			}
			if seen.url != want {
				t.Errorf("got %s, want %s", seen.url, want)
			}
		})
	}
}

func TestPrivateCertificates(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(answering(http.StatusOK, `{"id":1}`))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := clientOf(t, s.URL).Repository(t.Context())
	wantKind(t, err, forge.Transient, "an unknown authority must not be trusted")

	client := clientOf(t, s.URL, func(o *github.Options) { o.CABundle = pemOf(s.Certificate().Raw) })
	if _, err := client.Repository(t.Context()); err != nil {
		t.Errorf("the authority that is given must be trusted: %v", err)
	}
}

func TestDeniedNetworks(t *testing.T) {
	t.Parallel()
	s := serve(t, answering(http.StatusOK, `{"id":1}`))
	_, err := clientOf(t, s.URL, func(o *github.Options) {
		o.Networks = dialer.Rules{}
	}).Repository(t.Context())
	wantKind(t, err, forge.Misconfigured, "only another address can help")
	if s.count() > 0 {
		t.Error("nothing may be sent to a network that is denied")
	}
}

func TestNamesInPathsAreChecked(t *testing.T) {
	t.Parallel()
	s := serve(t, answering(http.StatusOK, `{}`))
	client, ctx := clientOf(t, s.URL), t.Context()
	_, errStatuses := client.CommitStatuses(ctx, "main", "ci")
	_, errChecks := client.CheckRuns(ctx, "../../user", "ci", "")
	_, errPost := client.PostStatus(ctx, forge.StatusRequest{SHA: "main"})
	_, errDeployment := client.OpenDeployment(ctx, forge.DeploymentRequest{SHA: "main"})
	_, errTeam := client.Team(ctx, "shop/../../user")
	_, errOpen := client.OpenChange(ctx, forge.ChangeRequest{Branch: "main", Base: "main", Path: "x"})
	_, errBase := client.OpenChange(ctx, forge.ChangeRequest{Branch: "sluice/x", Base: "a..b", Path: "x"})
	_, errPath := client.OpenChange(ctx, forge.ChangeRequest{Branch: "sluice/x", Base: "main", Path: "../x"})
	for name, err := range map[string]error{
		"statuses": errStatuses, "checks": errChecks, "post": errPost, "deployment": errDeployment, "team": errTeam,
		"branch": errOpen, "base": errBase, "path": errPath, "delete": client.DeleteBranch(ctx, "main"),
	} {
		wantKind(t, err, forge.Invalid, name)
	}
	accounts, err := client.Accounts(ctx, "../user")
	if err != nil || accounts[0].Known() {
		t.Errorf("a login that can't be one is nobody's: %v, %v", accounts, err)
	}
	if s.count() > 0 {
		t.Errorf("nothing may be asked by a name that is none: got %d requests", s.count())
	}
}
