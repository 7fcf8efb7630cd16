package access

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// tokens is the plainest dashboard: people log in with tokens.
var tokens = Options{Tokens: true}

// TestAServiceAccountIsItself: who logs in as a service account reads and writes as that account,
// and nothing else of the cluster with the rights of the dashboard.
func TestAServiceAccountIsItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	w.create(release(w.namespace))
	b := w.browser().login(w.token("grace"))
	account := "system:serviceaccount:" + w.namespace + ":grace"

	before := b.get("/?namespace=" + w.namespace).sees(t)
	if before.Name != account || !strings.Contains(before.Releases, `"`+account+`" cannot list`) {
		t.Errorf("without rights: %+v", before)
	}
	w.let(w.namespace, rbacv1.Subject{Kind: "ServiceAccount", Namespace: w.namespace, Name: "grace"}, sees, rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"batchreleases"}, Verbs: []string{"patch"},
	}, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"*"}})
	w.heard(w.viewer(identity{Name: account}), Verb{Verb: "list", Resource: "secrets"})
	after := b.get("/?namespace=" + w.namespace).sees(t)
	if after.Releases != "ok" {
		t.Errorf("with rights, releases: %s", after.Releases)
	}
	if !strings.Contains(after.Secrets, `cannot list resource "secrets"`) && !strings.Contains(after.Secrets, "cannot impersonate") {
		t.Errorf("Secrets, which they may read and the dashboard may not as anybody: %s", after.Secrets)
	}
	if other := b.get("/?namespace=default").sees(t); !strings.Contains(other.Releases, "cannot list") {
		t.Errorf("another namespace: %s", other.Releases)
	}
	done := b.do(http.MethodPost, "/?namespace="+w.namespace, url.Values{CSRFField: {after.CSRF}}).sees(t)
	if done.Patched != "ok" {
		t.Errorf("a patch: %s", done.Patched)
	}
}

func release(namespace string) *v1alpha1.BatchRelease {
	r := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	r.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	r.Spec.Template = &runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]}}`)}
	r.Spec.Strategy.Steps = []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}
	return r
}

// TestNothingWithoutLogin: without a login there is nothing but the login, assets and health.
func TestNothingWithoutLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	b := w.browser()
	for path, want := range map[string]int{
		"/login": http.StatusOK, "/assets/style.css": http.StatusOK, "/healthz": http.StatusOK, "/readyz": http.StatusOK,
		"/": http.StatusSeeOther, "/releases/shop/web": http.StatusSeeOther, "/assets": http.StatusSeeOther, "/healthz/": http.StatusSeeOther,
		"/assets/../": http.StatusSeeOther, "/assets/%2e%2e/releases": http.StatusSeeOther, "/assets//": http.StatusSeeOther,
		"/LOGIN": http.StatusSeeOther, "/login/": http.StatusSeeOther, "/logout": http.StatusSeeOther,
	} {
		got := b.get(path)
		if got.StatusCode != want || want == http.StatusSeeOther && !strings.HasPrefix(got.Header.Get("Location"), "/login") {
			t.Errorf("%s: got %s to %q, want %d", path, got.Status, got.Header.Get("Location"), want)
		}
		if path != "/login" && want == http.StatusOK && got.body != "public" {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	stream := b.get("/live", func(r *http.Request) { r.Header.Set("Accept", "text/event-stream") })
	if stream.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stream: got %s", stream.Status)
	}
	if got := b.do(http.MethodPost, "/releases/shop/web", url.Values{"what": {"approve"}}); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("a form: got %s", got.Status)
	}
	if got := b.get("/releases/shop/web?batch=2"); got.Header.Get("Location") != "/login?next="+url.QueryEscape("/releases/shop/web?batch=2") {
		t.Errorf("the login forgets where somebody wanted to go: %q", got.Header.Get("Location"))
	}
}

// TestTokensThatOpenNothing: tokens that the API server does not accept, or that are for somebody
// else, open nothing, and nobody reads them in the log.
func TestTokensThatOpenNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	good := w.token("grace")
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"Empty": "", "Prose": "let me in", "Cut": good[:len(good)-2], "Unsigned": parts[0] + "." + parts[1] + ".",
		"Vault": w.token("ada", "vault"), "Long": strings.Repeat("x", 7<<10), "Header": good + "\r\nImpersonate-User: root",
	} {
		got := w.browser().do(http.MethodPost, "/login", url.Values{"token": {token}})
		if got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 || !strings.Contains(got.body, "does not accept this token") {
			t.Errorf("%s: got %s with cookies %v: %s", name, got.Status, got.Cookies(), got.body)
		}
		if token != "" && strings.Contains(got.body, token) {
			t.Errorf("%s: the page repeats the token", name)
		}
	}
	w.browser().login(good)
	for _, secret := range []string{good, parts[1], parts[2]} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log has a token:\n%s", w.log)
		}
	}
	if !strings.Contains(w.log.String(), "logged in") {
		t.Errorf("the log does not say who has logged in:\n%s", w.log)
	}
}

// TestAudiences: a token for other audiences counts where they are named, and the API server's does
// not.
func TestAudiences(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Tokens: true, Audiences: []string{"sluice"}})
	w.browser().login(w.token("grace", "sluice"))
	got := w.browser().do(http.MethodPost, "/login", url.Values{"token": {w.token("ada")}})
	if got.StatusCode != http.StatusForbidden {
		t.Errorf("a token for the API server: got %s", got.Status)
	}
}

// TestForgedForms: a form that another page sends, or that lacks the token of the session, changes
// nothing.
func TestForgedForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	b, other := w.browser().login(w.token("grace")), w.browser().login(w.token("ada"))
	mine, theirs := b.get("/").sees(t).CSRF, other.get("/").sees(t).CSRF
	if mine == "" || mine == theirs || strings.Contains(b.cookie(sessionPurpose), mine) {
		t.Fatalf("tokens of forms: %q and %q", mine, theirs)
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	cases := map[string]struct {
		reason  string
		form    url.Values
		changes []func(*http.Request)
		want    int
	}{
		"Own":       {"a form of the page", url.Values{CSRFField: {mine}, "what": {"approve"}}, nil, http.StatusOK},
		"None":      {"a form without a token", url.Values{"what": {"approve"}}, nil, http.StatusForbidden},
		"Empty":     {"an empty token", url.Values{CSRFField: {""}}, nil, http.StatusForbidden},
		"Theirs":    {"a token of another session", url.Values{CSRFField: {theirs}}, nil, http.StatusForbidden},
		"Second":    {"the right token after a wrong one", url.Values{CSRFField: {"x", mine}}, nil, http.StatusForbidden},
		"Site":      {"a page of another site", url.Values{CSRFField: {mine}}, []func(*http.Request){header("Sec-Fetch-Site", "cross-site")}, http.StatusForbidden},
		"Subdomain": {"a page beside the dashboard", url.Values{CSRFField: {mine}}, []func(*http.Request){header("Sec-Fetch-Site", "same-site")}, http.StatusForbidden},
		"Origin":    {"an older browser", url.Values{CSRFField: {mine}}, []func(*http.Request){header("Origin", "https://evil.example")}, http.StatusForbidden},
		"Null":      {"a sandboxed page", url.Values{CSRFField: {mine}}, []func(*http.Request){header("Origin", "null")}, http.StatusForbidden},
		"Text":      {"a form that a browser sends without asking", url.Values{CSRFField: {mine}}, []func(*http.Request){header("Content-Type", "text/plain")}, http.StatusUnsupportedMediaType},
		"Large":     {"a form that is too long", url.Values{CSRFField: {mine}, "what": {strings.Repeat("x", 9<<10)}}, nil, http.StatusRequestEntityTooLarge},
	}
	for name, tc := range cases {
		got := b.do(http.MethodPost, "/", tc.form, tc.changes...)
		if got.StatusCode != tc.want {
			t.Errorf("%s, %s: got %s, want %d: %s", name, tc.reason, got.Status, tc.want, got.body)
		}
	}
	if got := b.do(http.MethodPost, "/?csrf="+url.QueryEscape(mine), url.Values{"what": {"x"}}); got.StatusCode != http.StatusForbidden {
		t.Errorf("a token in the address: got %s", got.Status)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, http.MethodTrace} {
		if got := b.do(method, "/", nil); got.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %s", method, got.Status)
		}
	}
	if got := b.do(http.MethodPost, "/login", url.Values{"token": {"x"}}, header("Origin", "https://evil.example")); got.StatusCode != http.StatusForbidden ||
		!strings.Contains(got.body, "not the dashboard") {
		t.Errorf("a login that another page sends: got %s", got.Status)
	}
}

// TestSessionsEnd: a session ends when it has expired, when its token has, and when its person logs
// out; and so do the streams that were opened in it.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	token := w.token("grace")
	b := w.browser().login(token)
	kept := b.cookie(sessionPurpose)
	w.clock.Step(time.Hour - time.Minute)
	if got := b.get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("a minute before the token expires: got %s", got.Status)
	}
	w.clock.Step(2 * time.Minute)
	if got := b.get("/"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("after the token has expired: got %s", got.Status)
	}

	w.open(Options{Tokens: true, Lifetime: time.Minute, Keys: w.door.keys.now()})
	w.clock.SetTime(time.Now())
	b = w.browser()
	b.setCookie(sessionPurpose, kept)
	csrf := b.get("/").sees(t).CSRF
	if got := b.get("/logout"); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a link that logs out: got %s", got.Status)
	}
	if got := b.do(http.MethodPost, "/logout", url.Values{}); got.StatusCode != http.StatusForbidden {
		t.Errorf("another page's form that logs out: got %s", got.Status)
	}
	if got := b.do(http.MethodPost, "/logout", url.Values{CSRFField: {csrf}}); got.StatusCode != http.StatusSeeOther || b.cookie(sessionPurpose) != "" {
		t.Errorf("log out: got %s, cookie %q", got.Status, b.cookie(sessionPurpose))
	}
	b.setCookie(sessionPurpose, kept)
	if got := b.get("/"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("the cookie of a session that was logged out of: got %s", got.Status)
	}
}

// TestStreamsEndWithTheSession: a stream of events does not outlast the session.
func TestStreamsEndWithTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	b := w.browser().login(w.token("grace"))
	var s session
	if !w.door.keys.now().open(sessionPurpose, b.cookie(sessionPurpose), &s) {
		t.Fatal("the session can't be read")
	}
	w.clock.SetTime(time.Unix(s.Expires, 0).Add(-time.Second))
	began := time.Now()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.server.URL+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("got %s", answer.Status)
	}
	if _, err := bufio.NewReader(answer.Body).ReadByte(); err != io.EOF || time.Since(began) > 20*time.Second {
		t.Errorf("the stream ended after %v with %v", time.Since(began), err)
	}
}

// TestHeaders: every answer has the headers that keep other pages out, and cookies are for this
// host and for no script.
func TestHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	b := w.browser()
	login := b.do(http.MethodPost, "/login", url.Values{"token": {w.token("grace")}})
	answers := map[string]result{
		"login": login, "page": b.get("/"), "form": w.browser().get("/login"), "asset": b.get("/assets/style.css"), "redirect": w.browser().get("/"),
		"refusal": b.do(http.MethodPost, "/", url.Values{}), "method": b.do(http.MethodPut, "/", nil),
	}
	for name, got := range answers {
		for header, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
		} {
			if got.Header.Get(header) != want {
				t.Errorf("%s: %s is %q", name, header, got.Header.Get(header))
			}
		}
	}
	cookie := login.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge <= 0 || cookie.MaxAge > 3700 { // the token is of a later moment than the test's clock
		t.Errorf("the session's cookie: %+v", cookie)
	}
	inTheOpen := Options{Tokens: true, ExternalURL: "https://sluice.example.com"}
	inTheOpen, err := inTheOpen.completed()
	if err != nil {
		t.Fatal(err)
	}
	if c := (&Cluster{options: inTheOpen}).setting(sessionPurpose, "x", 1); c.Name != "__Host-sluice-session" || !c.Secure || !c.HttpOnly {
		t.Errorf("behind TLS: %+v", c)
	}
	if page := answers["form"].body; strings.Contains(page, "<script") || strings.Contains(page, "style=") || strings.Contains(page, "<style") ||
		strings.Count(page, "<h1>") != 1 || !strings.Contains(page, `<html lang="en">`) || !strings.Contains(page, `<label for="token">`) {
		t.Errorf("the login page:\n%s", page)
	}
}

// TestNextIsAPageOfTheDashboard: after the login people are at the page of the dashboard that they
// came for, and never elsewhere.
func TestNextIsAPageOfTheDashboard(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"": "/", "/": "/", "/releases/shop/web?batch=2": "/releases/shop/web?batch=2", "/a b": "/a%20b",
		"https://evil.example": "/", "//evil.example": "/", `/\evil.example`: "/", `\/evil.example`: "/", "/\t/evil.example": "/", "/\n": "/",
		"///evil.example": "/", "/%2F/evil.example": "/", "javascript:alert(1)": "/", "/login": "/", "/login/start": "/", "/logout": "/",
		"evil": "/", "/" + strings.Repeat("x", maxNext): "/", "http:/evil.example": "/", "/%zz": "/",
	} {
		if got := ownPath(next); got != want {
			t.Errorf("%q: got %q, want %q", next, got, want)
		}
	}
}

// TestForgedSessions: a cookie that was changed, made with another key, of another purpose, or of
// somebody whom the dashboard acts for never, opens nothing.
func TestForgedSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	good := w.browser().login(w.token("grace"))
	keys, purpose := w.door.keys.now(), sessionPurpose
	strangers, err := RandomKeys()
	if err != nil {
		t.Fatal(err)
	}
	later := w.clock.Now().Add(time.Hour)
	seal := func(keys Keys, purpose string, who identity, until time.Time) string {
		sealed, err := keys.seal(purpose, newSession(who, until))
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	flipped := []byte(good.cookie(purpose))
	flipped[len(flipped)/2] ^= 1
	cases := map[string]string{
		"Changed": string(flipped), "Cut": good.cookie(purpose)[:40], "Empty": "", "Prose": "admin", "Long": strings.Repeat("A", 4000),
		"Stranger": seal(strangers, purpose, identity{Name: "ada"}, later),
		"Purpose":  seal(keys, tryPurpose, identity{Name: "ada"}, later),
		"Expired":  seal(keys, purpose, identity{Name: "ada"}, w.clock.Now()),
		"Masters":  seal(keys, purpose, identity{Name: "ada", Groups: []string{"system:masters"}}, later),
		"Node":     seal(keys, purpose, identity{Name: "system:node:a"}, later),
		"Nobody":   seal(keys, purpose, identity{}, later),
	}
	for name, cookie := range cases {
		b := w.browser()
		b.setCookie(purpose, cookie)
		if got := b.get("/"); got.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: got %s: %s", name, got.Status, got.body)
		}
	}
	if got := good.get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("the session that is genuine: got %s", got.Status)
	}
}

// TestTriesAreLimited: a person who tries too often waits, and others do not.
func TestTriesAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	b := w.browser()
	got := map[int]int{}
	for range triesBurst + 5 {
		got[b.do(http.MethodPost, "/login", url.Values{"token": {"guess"}}).StatusCode]++
	}
	if got[http.StatusForbidden] != triesBurst || got[http.StatusTooManyRequests] != 5 {
		t.Errorf("got %v", got)
	}
	w.clock.Step(10 * time.Second)
	b.login(w.token("grace"))
}

// TestWithoutTheRightToImpersonate: a dashboard whose account may not act for others lets nobody
// in, and says whom to ask.
func TestWithoutTheRightToImpersonate(t *testing.T) {
	t.Parallel()
	w := worldOn(t, cptest.Access(t), cptest.Namespace(t), tokens)
	w.let(w.namespace, rbacv1.Subject{Kind: "ServiceAccount", Namespace: w.namespace, Name: "sluice-dashboard"}, sees)
	w.bind("system:auth-delegator", rbacv1.Subject{Kind: "ServiceAccount", Namespace: w.namespace, Name: "sluice-dashboard"})
	token := w.token("grace")
	var got result
	cptest.Eventually(t, time.Minute, func() error { // the API server has heard of the role
		got = w.browser().do(http.MethodPost, "/login", url.Values{"token": {token}})
		if got.StatusCode == http.StatusForbidden || got.StatusCode == http.StatusTooManyRequests {
			return nil
		}
		w.clock.Step(time.Second)
		return io.ErrNoProgress
	})
	if !strings.Contains(got.body, "check the rights of its service account") || strings.Contains(got.body, w.namespace) {
		t.Errorf("got %s: %s", got.Status, got.body)
	}
	if !strings.Contains(w.log.String(), "cannot impersonate") {
		t.Errorf("the log does not say what is missing: %s", w.log)
	}
}

// TestClientsAreShared: several sessions of one person share a client, and two people never do.
func TestClientsAreShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tokens)
	of := func(who identity) client.Client {
		acts, err := w.door.people.client(who)
		if err != nil {
			t.Fatal(err)
		}
		return acts
	}
	ada := identity{Name: "ada", Groups: []string{"dev"}}
	if of(ada) != of(identity{Name: "ada", Groups: []string{"dev"}}) {
		t.Error("one person has two clients")
	}
	for _, other := range []identity{
		{Name: "ada"}, {Name: "ada", Groups: []string{"dev", "ops"}}, {Name: "ada", Groups: []string{"dev"}, UID: "1"},
		{Name: "ada", Groups: []string{"dev"}, Extra: map[string][]string{"scope": {"x"}}}, {Name: "dev", Groups: []string{"ada"}},
	} {
		if of(ada) == of(other) {
			t.Errorf("%+v has the client of %+v", other, ada)
		}
	}
	for i := range maxPeople + 10 {
		of(identity{Name: strings.Repeat("x", i+1)})
	}
	if w.door.people.clients.Left() != 0 {
		t.Errorf("room for %d more clients, want it used up", w.door.people.clients.Left())
	}
	if !slices.Equal(ada.Groups, []string{"dev"}) {
		t.Errorf("groups were changed: %v", ada.Groups)
	}
}

// quoting stands for an API server, or something before it, whose error repeats what it was sent.
type quoting struct{ client.Client }

func (quoting) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return fmt.Errorf("bad gateway: POST %s", object.(*authenticationv1.TokenReview).Spec.Token)
}

// TestErrorsHoldNoToken: an error that quotes the token reaches the log without it.
func TestErrorsHoldNoToken(t *testing.T) {
	t.Parallel()
	c := &Cluster{people: &people{own: quoting{}}}
	_, _, err := c.review(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/login", nil), "secret-token")
	if err == nil || strings.Contains(err.Error(), "secret-token") || !strings.Contains(err.Error(), "bad gateway") {
		t.Errorf("got %v", err)
	}
}
