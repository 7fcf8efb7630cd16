package github_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/dialer"
)

func newKey(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// largeKey returns a good key with so much after it that it is too large to read.
func largeKey(t *testing.T) []byte {
	t.Helper()
	return append(newKey(t), make([]byte, 4<<10)...)
}

func loopbackClients(now func() time.Time) *github.Clients {
	return github.NewClients(github.Options{AllowHTTP: true, Networks: dialer.Rules{Allowed: dialer.Loopback()}, Now: now})
}

func clientFrom(t *testing.T, clients *github.Clients, opts github.Options) *github.Client {
	t.Helper()
	client, err := clients.Client(opts)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// variations returns options that must not share a client with those of an app in shop/web, and
// whether the forge counts the requests of both together.
func variations(t *testing.T, base github.Options) map[string]struct {
	options  github.Options
	together bool
} {
	t.Helper()
	with := func(change func(*github.Options)) github.Options {
		opts, app := base, *base.App
		opts.App = &app
		change(&opts)
		return opts
	}
	type variation = struct {
		options  github.Options
		together bool
	}
	return map[string]variation{
		"read by Git only":   {with(func(o *github.Options) { o.App.GitOnly = true }), true},
		"reads teams":        {with(func(o *github.Options) { o.App.Teams = true }), true},
		"writes deployments": {with(func(o *github.Options) { o.App.Deployments = true }), true},
		"another repository": {with(func(o *github.Options) { o.Repository = "api" }), true},
		"a named one":        {with(func(o *github.Options) { o.App.InstallationID = 7 }), true},
		"another owner":      {with(func(o *github.Options) { o.Owner = "bank" }), false},
		"another app":        {with(func(o *github.Options) { o.App.ID = 2 }), false},
		"another key":        {with(func(o *github.Options) { o.App.PrivateKey = newKey(t) }), false},
		"a token":            {with(func(o *github.Options) { o.App, o.Token = nil, "ghp_ours" }), false},
		"another authority": {with(func(o *github.Options) {
			authority := httptest.NewTLSServer(nil)
			t.Cleanup(authority.Close)
			o.CABundle = pemOf(authority.Certificate().Raw)
		}), false},
	}
}

// TestClientsOfTheSameAreTheSame: who asks for the same gets the same client, and so the same
// token; who asks for other rights gets another one.
func TestClientsOfTheSameAreTheSame(t *testing.T) {
	t.Parallel()
	f := newTokens(t)
	clients := loopbackClients(f.clock.Now)
	base := github.Options{BaseURL: f.URL, Owner: "shop", Repository: "web", App: &github.App{ID: 1, PrivateKey: newKey(t)}}
	first := clientFrom(t, clients, base)
	spelled := base
	spelled.Owner, spelled.BaseURL = "Shop", f.URL+"/api/v3"
	for name, opts := range map[string]github.Options{"again": base, "spelled otherwise": spelled} {
		second := clientFrom(t, clients, opts)
		if second != first {
			t.Errorf("%s: want the same client", name)
		}
		for _, client := range []*github.Client{first, second} {
			if err := use(t, client); err != nil {
				t.Fatal(err)
			}
		}
	}
	if f.made != 1 {
		t.Errorf("%d tokens for one client, want 1", f.made)
	}
	for name, other := range variations(t, base) {
		if clientFrom(t, clients, other.options) == first {
			t.Errorf("%s: want another client", name)
		}
	}
	if _, err := loopbackClients(nil).Client(github.Options{BaseURL: f.URL, Owner: "shop", Repository: "web"}); forge.KindOf(err) != forge.Misconfigured {
		t.Errorf("without credentials: %v, want %s", err, forge.Misconfigured)
	}
}

// TestInstallationHasOneLimit: an installation has one rate limit, whichever of its clients meets
// it. Who has other credentials is not held up by it, so that nobody can hold up others.
func TestInstallationHasOneLimit(t *testing.T) {
	t.Parallel()
	f := newTokens(t)
	base := github.Options{BaseURL: f.URL, Owner: "shop", Repository: "web", App: &github.App{ID: 1, PrivateKey: newKey(t)}}
	for name, other := range variations(t, base) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTokens(t)
			limited := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("check_name") == "limited" {
					answering(http.StatusTooManyRequests, "{}", "Retry-After", "60")(w, r)
					return
				}
				f.answer(w, r)
			})
			clients := loopbackClients(f.clock.Now)
			base, opts := base, other.options
			base.BaseURL, opts.BaseURL = limited.URL, limited.URL
			first, second := clientFrom(t, clients, base), clientFrom(t, clients, opts)
			if err := use(t, second); err != nil {
				t.Fatal(err)
			}
			_, err := first.CheckRuns(t.Context(), someCommit, "limited", "")
			wantKind(t, err, forge.Limited, "the forge limits it")
			sent := limited.count()
			if err := use(t, second); other.together != (forge.KindOf(err) == forge.Limited) {
				t.Errorf("the other client: %v, want it limited, too: %t", err, other.together)
			}
			if more := limited.count() - sent; other.together != (more == 0) {
				t.Errorf("the other client sent %d requests while the first is limited, want some: %t", more, !other.together)
			}
			f.clock.advance(time.Minute + time.Second)
			for _, client := range []*github.Client{first, second} {
				if err := use(t, client); err != nil {
					t.Errorf("after the limit: %v", err)
				}
			}
			if own, other := first.Budget().Requests, second.Budget().Requests; own == 0 || other == 0 || own+other != int64(limited.count()) {
				t.Errorf("the clients say that they sent %d and %d requests of %d", own, other, limited.count())
			}
		})
	}
}
