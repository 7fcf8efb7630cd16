package github_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/dialer"
)

const someCommit = "0123456789abcdef0123456789abcdef01234567"

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now().Truncate(time.Second)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// server is a forge that answers what a test says, for what no real forge can be made to do.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	requests []*http.Request
}

func serve(t *testing.T, answer http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// answering returns a handler that always answers the same.
func answering(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func clientOf(t *testing.T, baseURL string, change ...func(*github.Options)) *github.Client {
	t.Helper()
	opts := github.Options{
		BaseURL: baseURL, Owner: "shop", Repository: "web", Token: "ghp_ours",
		AllowHTTP: true, Networks: dialer.Rules{Allowed: dialer.Loopback()},
	}
	for _, apply := range change {
		apply(&opts)
	}
	client, err := github.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func at(c *clock) func(*github.Options) { return func(o *github.Options) { o.Now = c.Now } }

func wantKind(t *testing.T, err error, want forge.Kind, reason string) {
	t.Helper()
	if got := forge.KindOf(err); got != want {
		t.Errorf("%s: want kind %q, got %q: %v", reason, want, got, err)
	}
}
