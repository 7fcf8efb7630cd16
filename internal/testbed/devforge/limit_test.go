package devforge_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

const pullsPath = "/api/v3/repos/shop/web/pulls"

var pullsOnly = regexp.MustCompile("^" + pullsPath + "$")

func TestConditionalRequestsCostNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	first := w.do("GET", pullsPath, "", nil)
	tag, left := first.header.Get("ETag"), first.header.Get("X-Ratelimit-Remaining")
	again := w.do("GET", pullsPath, "", http.Header{"If-None-Match": {tag}})
	if again.status != http.StatusNotModified || again.header.Get("X-Ratelimit-Remaining") != left {
		t.Errorf("what is known already is free: got %d with %s left, want %s", again.status, again.header.Get("X-Ratelimit-Remaining"), left)
	}
	w.open(w.cloneAs(w.tokens["ada"]), "topic")
	if changed := w.do("GET", pullsPath, "", http.Header{"If-None-Match": {tag}}); changed.status != http.StatusOK {
		t.Errorf("what has changed is sent: got %d", changed.status)
	}
	if first.header.Get("X-Github-Request-Id") == "" {
		t.Error("each answer has an id")
	}
}

func TestTheHourlyLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	w := newWorld(t, devforge.Options{Clock: func() time.Time { return now }})
	w.SetRateLimit(2)
	for range 2 {
		_, _, err := w.ada.Repositories.Get(w.ctx(), owner, web)
		must(t, err)
	}
	_, _, err := w.ada.Repositories.Get(w.ctx(), owner, web)
	var limit *github.RateLimitError
	if !errors.As(err, &limit) || !limit.Rate.Reset.Equal(github.Timestamp{Time: now.Add(time.Hour)}) {
		t.Errorf("the third request is over the limit until an hour has passed: %v", err)
	}
	limits, _, err := w.client(w.tokens["ada"]).RateLimit.Get(w.ctx())
	must(t, err)
	if limits.Core.Remaining != 0 || limits.Core.Limit != 2 {
		t.Errorf("the limit can be asked for all the same: got %v", limits.Core)
	}
	_, _, err = w.bob.Repositories.Get(w.ctx(), owner, web)
	must(t, err)
	now = now.Add(time.Hour)
	_, _, err = w.client(w.tokens["ada"]).Repositories.Get(w.ctx(), owner, web)
	must(t, err)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	for _, branch := range []string{"a", "b"} {
		w.open(clone, branch)
	}
	// The faults are met one after the other, each once.
	tests := []struct {
		reason string
		fault  devforge.Fault
		check  func(*testing.T, reply)
	}{
		{"a server error", devforge.Fault{Kind: devforge.FaultStatus, Status: 503}, func(t *testing.T, r reply) {
			wantAnswer(t, r, 503, false)
		}},
		{"JSON that is cut", devforge.Fault{Kind: devforge.FaultMalformed}, func(t *testing.T, r reply) {
			wantAnswer(t, r, 200, false)
		}},
		{"half a page", devforge.Fault{Kind: devforge.FaultPartialPage}, func(t *testing.T, r reply) {
			if got := len(wantAnswer(t, r, 200, true)); got != 1 {
				t.Errorf("got %d of 2", got)
			}
		}},
		{"a redirect", devforge.Fault{Kind: devforge.FaultRedirect, Location: "/elsewhere"}, func(t *testing.T, r reply) {
			wantAnswer(t, r, 307, false)
		}},
		{"the primary limit", devforge.Fault{Kind: devforge.FaultPrimaryLimit}, func(t *testing.T, r reply) {
			if r.status != 403 || r.header.Get("X-Ratelimit-Remaining") != "0" {
				t.Errorf("got %d with %q left", r.status, r.header.Get("X-Ratelimit-Remaining"))
			}
		}},
		{
			"the secondary limit, told when to come back",
			devforge.Fault{Kind: devforge.FaultSecondaryLimit, Status: 429, Wait: time.Minute},
			func(t *testing.T, r reply) {
				if r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "60" {
					t.Errorf("got %d, retry after %q", r.status, r.header.Get("Retry-After"))
				}
			},
		},
		{"the secondary limit alone", devforge.Fault{Kind: devforge.FaultSecondaryLimit}, func(t *testing.T, r reply) {
			if r.status != 403 || r.header.Get("Retry-After") != "" || r.header.Get("X-Ratelimit-Remaining") == "0" {
				t.Errorf("got %d, %v", r.status, r.header)
			}
		}},
	}
	for _, tc := range tests {
		tc.fault.Path, tc.fault.Times, tc.fault.Method = pullsOnly, 1, "GET"
		off := w.Inject(tc.fault)
		tc.check(t, w.do("GET", pullsPath, "", nil))
		if got := off(); got != 1 {
			t.Errorf("%s: one request meets it: got %d", tc.reason, got)
		}
		if got := len(wantAnswer(t, w.do("GET", pullsPath, "", nil), 200, true)); got != 2 {
			t.Errorf("%s: it has passed: got %d of 2", tc.reason, got)
		}
	}
}

// wantAnswer checks the status, and whether the body is a list.
func wantAnswer(t *testing.T, r reply, status int, list bool) []json.RawMessage {
	t.Helper()
	var items []json.RawMessage
	err := json.Unmarshal(r.body, &items)
	if r.status != status || (err == nil) != list {
		t.Errorf("got %d, a list: %t, want %d, %t: %.80s", r.status, err == nil, status, list, r.body)
	}
	return items
}

func TestFaultsOfGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	fetches, pushes := regexp.MustCompile("git-upload-pack$"), regexp.MustCompile("git-receive-pack$")

	w.Inject(devforge.Fault{Kind: devforge.FaultMalformed, Path: fetches, Times: 2})
	url := strings.Replace(w.CloneURL(repository), "http://", "http://x:"+w.tokens["ada"]+"@", 1)
	if out, err := tryGit(t.TempDir(), "clone", "--quiet", url, "clone"); err == nil {
		t.Errorf("a pack that ends too early is no clone: %s", out)
	}
	off := w.Inject(devforge.Fault{Kind: devforge.FaultStall, Path: fetches})
	if out, err := tryGit(t.TempDir(), "-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=1", "clone", "--quiet", url, "clone"); err == nil {
		t.Errorf("a pack that stalls is no clone: %s", out)
	}
	off()
	w.Inject(devforge.Fault{Kind: devforge.FaultLostAnswer, Path: pushes, Times: 1})
	commit(t, clone, "two\n")
	if out, err := tryGit(clone, "push", "--quiet", "origin", "main"); err == nil {
		t.Errorf("a lost answer is no success: %s", out)
	}
	if got, want := w.tip("main"), git(t, clone, "rev-parse", "HEAD"); got != want {
		t.Errorf("the push took effect all the same: got %s, want %s", got, want)
	}
}
