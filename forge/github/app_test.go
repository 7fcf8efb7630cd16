package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

func asApp(app github.App) func(*github.Options) {
	return func(o *github.Options) { o.Token, o.App = "", &app }
}

// newApp makes an app that is installed on shop/web, and on nothing else.
func (w *world) newApp(permissions devforge.Permissions) github.App {
	w.t.Helper()
	app, err := w.forge.CreateApp("releaser", permissions)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.forge.InstallApp(app.ID, "shop", "shop/web"); err != nil {
		w.t.Fatal(err)
	}
	return github.App{ID: app.ID, PrivateKey: app.PrivateKey}
}

// byApp returns a client with a token of an app's first installation, with all of its rights.
func (w *world) byApp(app devforge.App) *gogithub.Client {
	w.t.Helper()
	key, err := jwt.ParseRSAPrivateKeyFromPEM(app.PrivateKey)
	if err != nil {
		w.t.Fatal(err)
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Issuer: strconv.FormatInt(app.ID, 10), ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Minute)),
	}).SignedString(key)
	if err != nil {
		w.t.Fatal(err)
	}
	itself := w.withToken(signed)
	installed, _, err := itself.Apps.FindRepositoryInstallation(w.t.Context(), "shop", "web")
	if err != nil {
		w.t.Fatal(err)
	}
	token, _, err := itself.Apps.CreateInstallationToken(w.t.Context(), installed.GetID(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.withToken(token.GetToken())
}

func (w *world) withToken(token string) *gogithub.Client {
	w.t.Helper()
	client, err := gogithub.NewClient(nil).WithAuthToken(token).WithEnterpriseURLs(w.forge.APIURL(), w.forge.APIURL())
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// minted counts the tokens that were asked for.
func (w *world) minted() int {
	count := 0
	for _, r := range w.forge.Requests() {
		if strings.HasSuffix(r.Path, "/access_tokens") && r.Status == http.StatusCreated {
			count++
		}
	}
	return count
}

func TestAppWorksOnItsRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.newApp(nil)
	app.Teams, app.Deployments = true, true
	w.team("bob")
	client := w.newClient(asApp(app))
	pull, err := client.OpenChange(t.Context(), request("by-app"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := client.Self(t.Context())
	if err != nil || self.Login != "releaser[bot]" || self.Type != forge.TypeBot || !self.Same(pull.Author) {
		t.Errorf("we must know as whom we act: got %+v, %v, and the author is %+v", self, err, pull.Author)
	}
	if _, err := client.Team(t.Context(), "approvers"); err != nil {
		t.Errorf("the right to read teams must be asked for: %v", err)
	}
	_, err = client.OpenDeployment(t.Context(), forge.DeploymentRequest{SHA: w.tip("main"), Task: "x", Environment: "y"})
	if err != nil {
		t.Errorf("the right to deploy must be asked for: %v", err)
	}
	if got := w.minted(); got != 1 {
		t.Errorf("one token must serve all: got %d", got)
	}
}

func TestAppTokensAreNarrow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.team("bob")
	client := w.newClient(asApp(w.newApp(nil)))
	if _, err := client.Repository(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := client.Team(t.Context(), "approvers")
	wantKind(t, err, forge.Forbidden, "a right that is not needed must not be held")
	_, err = client.OpenDeployment(t.Context(), forge.DeploymentRequest{SHA: w.tip("main"), Task: "x", Environment: "y"})
	wantKind(t, err, forge.Forbidden, "a right that is not needed must not be held")
}

func TestAppThatCannotDoIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.newApp(devforge.Permissions{"metadata": "read", "contents": "read"})
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	wrong := app
	wrong.PrivateKey = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(stranger)})
	elsewhere := func(o *github.Options) { asApp(app)(o); o.Repository = "other" }
	tests := map[string]struct {
		reason string
		change func(*github.Options)
		want   forge.Kind
	}{
		"TooFewRights":    {"the app lacks rights that we need", asApp(app), forge.Misconfigured},
		"OtherKey":        {"the key is of another app", asApp(wrong), forge.Unauthorised},
		"OtherRepository": {"the app is not installed there", elsewhere, forge.NotFound},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.newClient(tc.change).Repository(t.Context())
			wantKind(t, err, tc.want, tc.reason)
		})
	}
}

// tokens is a forge's part of App authentication, with a time that a test moves.
type tokens struct {
	*server

	clock *clock
	mu    sync.Mutex
	// made counts the tokens; refuse answers further requests for one with that status.
	made, refuse int
	// id is that of the installation.
	id      int
	revoked map[string]bool
	// asked is the last request for a token, used are the tokens of other requests.
	asked string
	used  []string
}

var installationPath = regexp.MustCompile(`/app/installations/\d+/access_tokens$`)

func newTokens(t *testing.T) *tokens {
	t.Helper()
	f := &tokens{clock: newClock(), id: 7, revoked: map[string]bool{}}
	f.server = serve(t, f.answer)
	return f
}

func (f *tokens) answer(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case strings.HasSuffix(r.URL.Path, "/installation"):
		answering(http.StatusOK, fmt.Sprintf(`{"id":%d}`, f.id))(w, r)
	case installationPath.MatchString(r.URL.Path) && !strings.Contains(r.URL.Path, fmt.Sprintf("/%d/", f.id)):
		answering(http.StatusNotFound, `{"message":"Not Found"}`)(w, r)
	case installationPath.MatchString(r.URL.Path) && f.refuse != 0:
		answering(f.refuse, `{"message":"no"}`, "Retry-After", "60")(w, r)
	case installationPath.MatchString(r.URL.Path):
		f.made++
		body, _ := io.ReadAll(r.Body)
		f.asked = string(body)
		expires := f.clock.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		answering(http.StatusCreated, `{"token":"ghs_`+strconv.Itoa(f.made)+`","expires_at":"`+expires+`"}`)(w, r)
	case f.revoked[token]:
		answering(http.StatusUnauthorized, `{"message":"Bad credentials"}`)(w, r)
	default:
		f.used = append(f.used, token)
		answering(http.StatusOK, `{"total_count":0,"check_runs":[]}`)(w, r)
	}
}

func (f *tokens) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *tokens) client(t *testing.T) *github.Client {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	app := github.App{ID: 1, PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
	return clientOf(t, f.URL, asApp(app), at(f.clock))
}

func use(t *testing.T, c *github.Client) error {
	t.Helper()
	_, err := c.CheckRuns(t.Context(), someCommit, "e2e", "")
	return err
}

func TestAppTokenIsReplacedInTime(t *testing.T) {
	t.Parallel()
	f := newTokens(t)
	client := f.client(t)
	for _, wait := range []time.Duration{0, 54 * time.Minute, 2 * time.Minute} {
		f.clock.advance(wait)
		if err := use(t, client); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"ghs_1", "ghs_1", "ghs_2"}; !slices.Equal(f.used, want) {
		t.Errorf("a token must be replaced minutes before its end: got %v, want %v", f.used, want)
	}
}

func TestAppTokenServesUntilThereIsANewOne(t *testing.T) {
	t.Parallel()
	f := newTokens(t)
	client := f.client(t)
	if err := use(t, client); err != nil {
		t.Fatal(err)
	}
	f.set(func() { f.refuse = http.StatusBadGateway })
	f.clock.advance(58 * time.Minute)
	if err := use(t, client); err != nil {
		t.Errorf("a token that is still good must be used: %v", err)
	}
	f.clock.advance(2 * time.Minute)
	wantKind(t, use(t, client), forge.Transient, "there is no token that is good")
	f.set(func() { f.refuse = http.StatusTooManyRequests })
	wantKind(t, use(t, client), forge.Limited, "a limit on tokens is a limit")
	sent := f.count()
	wantKind(t, use(t, client), forge.Limited, "a limit on tokens is a limit")
	if f.count() != sent {
		t.Error("while limited no token may be asked for")
	}
	if client.Budget().LimitedUntil.IsZero() {
		t.Error("the budget must tell of it")
	}
}

func TestRevokedAppTokenIsForgotten(t *testing.T) {
	t.Parallel()
	f := newTokens(t)
	client := f.client(t)
	if err := use(t, client); err != nil {
		t.Fatal(err)
	}
	f.set(func() { f.revoked["ghs_1"] = true })
	wantKind(t, use(t, client), forge.Unauthorised, "the token was revoked")
	if err := use(t, client); err != nil || f.made != 2 {
		t.Errorf("the next request must go with another token: %v, %d made", err, f.made)
	}
}

func TestAppThatIsInstalledAnewIsFoundAgain(t *testing.T) {
	t.Parallel()
	f := newTokens(t)
	client := f.client(t)
	if err := use(t, client); err != nil {
		t.Fatal(err)
	}
	f.set(func() { f.id = 8 })
	f.clock.advance(2 * time.Hour)
	wantKind(t, use(t, client), forge.NotFound, "the installation is gone")
	if err := use(t, client); err != nil {
		t.Errorf("the new installation must be looked up: %v", err)
	}
}

func TestAppTokenIsForOneRepository(t *testing.T) {
	t.Parallel()
	f := newTokens(t)
	if err := use(t, f.client(t)); err != nil {
		t.Fatal(err)
	}
	want := `{"repositories":["web"],"permissions":{"checks":"read","contents":"write","metadata":"read",` +
		`"pull_requests":"write","statuses":"write"}}`
	if got := strings.TrimSpace(f.asked); got != want {
		t.Errorf("a token must be good for no more than we do:\n got %s\nwant %s", got, want)
	}
}

func TestManyAtOnceShareAToken(t *testing.T) {
	t.Parallel()
	f := newTokens(t)
	client := f.client(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if err := use(t, client); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if f.made != 1 {
		t.Errorf("one token must serve all: got %d", f.made)
	}
}

// TestNothingIsSentWhileLimited: a limit of an hour on a real forge: nothing is sent, whatever is
// tried.
func TestNothingIsSentWhileLimited(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]devforge.Fault{
		"Primary403":   {Kind: devforge.FaultPrimaryLimit},
		"Primary429":   {Kind: devforge.FaultPrimaryLimit, Status: http.StatusTooManyRequests},
		"Secondary403": {Kind: devforge.FaultSecondaryLimit, Wait: time.Hour},
		"Secondary429": {Kind: devforge.FaultSecondaryLimit, Status: http.StatusTooManyRequests, Wait: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			clock := newClock()
			client := w.newClient(at(clock))
			off := w.forge.Inject(fault)
			everything := []func(context.Context) error{
				func(ctx context.Context) error { _, err := client.OpenChange(ctx, request("limited")); return err },
				func(ctx context.Context) error {
					_, err := client.ReadApproval(ctx, forge.ApprovalQuery{Number: 1})
					return err
				},
				func(ctx context.Context) error { return client.CloseApproval(ctx, 1, "sluice/x", "x") },
				func(ctx context.Context) error { return client.DeleteBranch(ctx, "sluice/x") },
				func(ctx context.Context) error { return postStatus(ctx, client) },
			}
			for _, try := range everything {
				wantKind(t, try(t.Context()), forge.Limited, "a limit must be told at once")
			}
			if hits := off(); hits != 1 {
				t.Errorf("only the request that met the limit may be sent: got %d", hits)
			}
			clock.advance(time.Hour + time.Second)
			if err := everything[0](t.Context()); err != nil {
				t.Errorf("after the limit it must go on: %v", err)
			}
		})
	}
}
