package access

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func oidcOptions(p *provider) Options {
	return Options{OIDC: &OIDC{
		Issuer: p.URL, ClientID: clientID, ClientSecret: clientSecret, UsernameClaim: "email", UsernamePrefix: "oidc:",
		GroupsClaim: "groups", GroupsPrefix: "oidc:",
	}}
}

// through goes to the login service and comes back.
func (b *browser) through(address string) result {
	b.Helper()
	at := b.get(address)
	for range 3 {
		if at.StatusCode/100 != 3 || !strings.Contains(at.Header.Get("Location"), "/authorize") && !strings.Contains(at.Header.Get("Location"), "/callback") {
			return at
		}
		at = b.get(at.Header.Get("Location"))
	}
	return at
}

// TestLoginService: a person who logs in is the user that the API server derives from the same
// claims, with the rights of their groups.
func TestLoginService(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := newWorld(t, oidcOptions(p))
	p.says(map[string]any{"groups": []string{"dev-" + w.namespace, "ops"}})
	b := w.browser()
	came := b.get("/releases?namespace=" + w.namespace)
	if came.Header.Get("Location") != "/login/start?next="+url.QueryEscape("/releases?namespace="+w.namespace) {
		t.Fatalf("sent to %q", came.Header.Get("Location"))
	}
	back := b.through(came.Header.Get("Location"))
	if back.StatusCode != http.StatusSeeOther || back.Header.Get("Location") != "/releases?namespace="+w.namespace || b.cookie(tryPurpose) != "" {
		t.Fatalf("back from the login service: %s to %q, with %q left: %s", back.Status, back.Header.Get("Location"), b.cookie(tryPurpose), back.body)
	}
	page := b.get(back.Header.Get("Location")).sees(t)
	if page.Name != "oidc:ada@example.com" || !slices.Equal(page.Groups, []string{"oidc:dev-" + w.namespace, "oidc:ops"}) ||
		!strings.Contains(page.Releases, `"oidc:ada@example.com" cannot list`) {
		t.Errorf("without rights: %+v", page)
	}
	w.let(w.namespace, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "oidc:dev-" + w.namespace}, sees)
	w.heard(w.viewer(identity{Name: page.Name, Groups: page.Groups}), Verb{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "batchreleases"})
	if page = b.get("/releases?namespace=" + w.namespace).sees(t); page.Releases != "ok" {
		t.Errorf("with rights: %s", page.Releases)
	}
	w.clock.Step(31 * time.Minute)
	if got := b.get("/"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("after what the login service said has expired: got %s", got.Status)
	}
	if got := b.do(http.MethodPost, "/login", url.Values{"token": {w.token("grace")}}); got.StatusCode != http.StatusForbidden {
		t.Errorf("a token, which this dashboard does not take: got %s", got.Status)
	}
}

// TestForgedCallbacks: a callback from another login than this browser's opens nothing.
func TestForgedCallbacks(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := newWorld(t, oidcOptions(p))
	location := func(b *browser) *url.URL { // of the callback, after the login service
		t.Helper()
		sent := b.get(b.get("/login/start").Header.Get("Location"))
		u, err := url.Parse(sent.Header.Get("Location"))
		if err != nil || u.Query().Get("code") == "" {
			t.Fatalf("the login service sends to %q: %v", sent.Header.Get("Location"), err)
		}
		return u
	}
	with := func(u *url.URL, changes url.Values) string {
		q := u.Query()
		maps.Copy(q, changes)
		return callbackPath + "?" + q.Encode()
	}
	cases := map[string]struct {
		reason string
		visit  func(b *browser) result
	}{
		"Fixed": {"the attacker's login in the victim's browser", func(b *browser) result { return b.get(location(w.browser()).RequestURI()) }},
		"State": {"another state", func(b *browser) result { return b.get(with(location(b), url.Values{"state": {"x"}})) }},
		"Empty": {"no state", func(b *browser) result { return b.get(with(location(b), url.Values{"state": {""}})) }},
		"Code":  {"another code", func(b *browser) result { return b.get(with(location(b), url.Values{"code": {"x"}})) }},
		"Stolen": {"the code of another login, which PKCE binds", func(b *browser) result {
			return b.get(with(location(b), url.Values{"code": {location(w.browser()).Query().Get("code")}}))
		}},
		"Twice": {"one login twice", func(b *browser) result {
			u := location(b)
			if got := b.get(u.RequestURI()); got.StatusCode != http.StatusSeeOther {
				t.Errorf("the login itself: %s", got.Status)
			}
			w.browser()
			b.client.Jar = w.browser().client.Jar
			return b.get(u.RequestURI())
		}},
		"Late": {"a login begun long ago", func(b *browser) result {
			u := location(b)
			w.clock.Step(tryLifetime)
			return b.get(u.RequestURI())
		}},
		"Error": {"a refusal, with somebody's words", func(b *browser) result {
			return b.get(with(location(b), url.Values{"error": {"access_denied"}, "error_description": {"call 555 1234"}}))
		}},
		"Prose": {"a refusal in somebody's words", func(b *browser) result {
			return b.get(with(location(b), url.Values{"error": {"call 555 1234"}}))
		}},
	}
	for name, tc := range cases {
		w.clock.Step(time.Minute) // nobody here tries too often
		b := w.browser()
		got := tc.visit(b)
		if got.StatusCode/100 != 4 && got.StatusCode != http.StatusBadGateway || b.cookie(sessionPurpose) != "" || strings.Contains(got.body, "555") {
			t.Errorf("%s, %s: got %s, session %q: %s", name, tc.reason, got.Status, b.cookie(sessionPurpose), got.body)
		}
	}
	if log := w.log.String(); strings.Contains(log, "555") || strings.Contains(log, "error_description") {
		t.Errorf("the log repeats what was sent:\n%s", log)
	}
}

// TestClaimsThatOpenNothing: claims open nothing unless they are signed, of this login, for this
// dashboard, and of a person.
func TestClaimsThatOpenNothing(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	w := newWorld(t, oidcOptions(p))
	bare := oidcOptions(p)
	bare.OIDC.UsernamePrefix, bare.OIDC.GroupsPrefix = "-", ""
	bare.OIDC.RequiredClaims = map[string]string{"hd": "example.com"}
	good := map[string]any{"hd": "example.com"}
	cases := map[string]struct {
		reason string
		claims map[string]any
		says   string
	}{
		"Good":       {"a person", nil, ""},
		"Nonce":      {"another login's", map[string]any{"nonce": "x"}, "another login"},
		"NoNonce":    {"no login's", map[string]any{"nonce": nil}, "another login"},
		"Audience":   {"for another application", map[string]any{"aud": "wiki"}, "log says why"},
		"Issuer":     {"of another service", map[string]any{"iss": "https://evil.example"}, "log says why"},
		"Expired":    {"of yesterday", map[string]any{"exp": time.Now().Add(-24 * time.Hour).Unix()}, "log says why"},
		"Domain":     {"of another company", map[string]any{"hd": "evil.example"}, "another account"},
		"NoDomain":   {"of nobody's company", map[string]any{"hd": nil}, "another account"},
		"NoName":     {"nobody", map[string]any{"email": nil}, "--oidc-username-claim"},
		"NameList":   {"no name", map[string]any{"email": []string{"ada@example.com"}}, "--oidc-username-claim"},
		"Unverified": {"an address that anybody can type", map[string]any{"email_verified": false}, "not verified"},
		"Doubtful":   {"an address that may be verified", map[string]any{"email_verified": "maybe"}, "not verified"},
		"Masters":    {"a group of Kubernetes", map[string]any{"groups": []string{"system:masters"}}, "system:masters"},
		"OneMasters": {"a group of Kubernetes", map[string]any{"groups": "system:masters"}, "system:masters"},
		"Account":    {"a service account is not of here", map[string]any{"email": "system:serviceaccount:kube-system:default"}, "part of Kubernetes"},
		"Admin":      {"a part of Kubernetes", map[string]any{"email": "system:admin"}, "part of Kubernetes"},
		"Space":      {"HTTP would make another name of it", map[string]any{"email": "root "}, "a space at an end"},
		"SpaceGroup": {"HTTP would make another group of it", map[string]any{"groups": []string{" system:masters"}}, "a space at an end"},
	}
	w.open(bare)
	for name, tc := range cases {
		w.clock.Step(time.Second)
		claims := maps.Clone(good)
		maps.Copy(claims, tc.claims)
		p.says(claims)
		b := w.browser()
		got := b.through("/login/start")
		if (tc.says == "") != (b.cookie(sessionPurpose) != "") || !strings.Contains(got.body, tc.says) {
			t.Errorf("%s, %s: got %s, session %q: %s", name, tc.reason, got.Status, b.cookie(sessionPurpose), got.body)
		}
	}
	p.says(good)
	p.mu.Lock()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.signer = signerOf(t, key)
	p.mu.Unlock()
	b := w.browser()
	if got := b.through("/login/start"); b.cookie(sessionPurpose) != "" {
		t.Errorf("signed by somebody else: got %s", got.Status)
	}
}

// TestLoginServiceIsAway: while the login service is away nobody logs in, people who have stay in,
// and what it was asked is in no answer.
func TestLoginServiceIsAway(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	p.setDown(true)
	options := oidcOptions(p)
	options.Tokens = true
	w := newWorld(t, options)
	b := w.browser()
	if got := b.get("/login/start"); got.StatusCode != http.StatusBadGateway || !strings.Contains(got.body, "Try again") || strings.Contains(got.body, "away") {
		t.Errorf("got %s: %s", got.Status, got.body)
	}
	if got := b.get("/login"); !strings.Contains(got.body, `href="/login/start`) || !strings.Contains(got.body, `name="token"`) {
		t.Errorf("the login page has not both ways: %s", got.body)
	}
	w.browser().login(w.token("grace"))
	p.setDown(false)
	w.clock.Step(serviceRetry + time.Second)
	if got := b.through("/login/start"); got.StatusCode != http.StatusSeeOther {
		t.Errorf("when it is back: got %s: %s", got.Status, got.body)
	}
	p.setDown(true)
	if got := b.get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("when it is away again: got %s", got.Status)
	}
}

// TestPersonOfClaims: names and groups are made as the API server's flags make them.
func TestPersonOfClaims(t *testing.T) {
	t.Parallel()
	issuer := "https://login.example.com"
	cases := map[string]struct {
		options OIDC
		want    identity
	}{
		"Default": {OIDC{}, identity{Name: issuer + "#1"}},
		"Email":   {OIDC{UsernameClaim: "email"}, identity{Name: "ada@example.com"}},
		"Prefix":  {OIDC{UsernameClaim: "email", UsernamePrefix: "x:"}, identity{Name: "x:ada@example.com"}},
		"None":    {OIDC{UsernamePrefix: "-"}, identity{Name: "1"}},
		"Groups":  {OIDC{UsernamePrefix: "-", GroupsClaim: "groups", GroupsPrefix: "x:"}, identity{Name: "1", Groups: []string{"x:dev", "x:ops"}}},
		"Filter":  {OIDC{UsernamePrefix: "-", GroupsClaim: "groups", GroupsFilter: regexp.MustCompile("^d")}, identity{Name: "1", Groups: []string{"dev"}}},
		"One":     {OIDC{UsernamePrefix: "-", GroupsClaim: "team"}, identity{Name: "1", Groups: []string{"dev"}}},
		"Number":  {OIDC{UsernamePrefix: "-", GroupsClaim: "age"}, identity{Name: "1"}},
	}
	var claims map[string]json.RawMessage
	if err := json.Unmarshal([]byte(`{"sub": "1", "email": "ada@example.com", "groups": ["dev", "ops"], "team": "dev", "age": 36}`), &claims); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		tc.options.Issuer, tc.options.ClientID = issuer, clientID
		options, err := Options{OIDC: &tc.options, ExternalURL: "https://sluice.example.com"}.completed()
		if err != nil {
			t.Fatal(err)
		}
		s, err := newService(tc.options, options)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.person(claims)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}
