package devforge_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

func TestAFaultThatComesLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	off := w.Inject(devforge.Fault{Kind: devforge.FaultStatus, Path: pullsOnly, After: 2, Times: 1})
	var got []int
	for range 4 {
		got = append(got, w.do("GET", pullsPath, "", nil).status)
	}
	if diff := cmp.Diff([]int{200, 200, 502, 200}, got); diff != "" || off() != 1 {
		t.Errorf("the third goes wrong, and no other (-want +got):\n%s", diff)
	}
}

func TestAFaultForOneUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.Inject(devforge.Fault{Kind: devforge.FaultStatus, User: "ada"})
	_, _, err := w.ada.Repositories.Get(w.ctx(), owner, web)
	wantStatus(t, "who is meant", err, 502)
	_, _, err = w.bob.Repositories.Get(w.ctx(), owner, web)
	wantStatus(t, "others", err, 200)
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

func TestALostAnswerTookEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	sha := w.tip("main")
	w.Inject(devforge.Fault{Kind: devforge.FaultLostAnswer, Method: "POST", Times: 1})
	if err := w.report(w.ada, sha, "ci", "success", "lost"); err == nil {
		t.Fatal("the connection must drop")
	}
	statuses, _, err := w.ada.Repositories.ListStatuses(w.ctx(), owner, web, sha, nil)
	must(t, err)
	if len(statuses) != 1 || statuses[0].GetDescription() != "lost" {
		t.Errorf("what was asked for was done: got %v", statuses)
	}
}

func TestARepeatedAnswerIsStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	off := w.Inject(devforge.Fault{Kind: devforge.FaultRepeat, Path: pullsOnly})
	wantAnswer(t, w.do("GET", pullsPath, "", nil), 200, true)
	git(t, w.cloneAs(w.tokens["ada"]), "push", "--quiet", "origin", "main:topic")
	must(t, w.report(w.ada, w.tip("main"), "ci", "success", ""))
	if got := len(wantAnswer(t, w.do("GET", pullsPath, "", nil), 200, true)); got != 0 || off() != 2 {
		t.Errorf("the answer is that of before: got %d", got)
	}
}

func TestARequestThatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.Inject(devforge.Fault{Kind: devforge.FaultHang, Path: pullsOnly})
	ctx, cancel := context.WithTimeout(w.ctx(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := w.ada.PullRequests.List(ctx, owner, web, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it is the client who gives up: %v", err)
	}
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

func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.ForgetRequests()
	before := time.Now()
	_, _, err := w.ada.PullRequests.List(w.ctx(), owner, web, &github.PullRequestListOptions{State: "all"})
	must(t, err)
	_, _, err = w.eve.PullRequests.Get(w.ctx(), owner, web, 1)
	wantStatus(t, "a stranger", err, 404)
	want := []devforge.Request{
		{Method: "GET", Path: pullsPath, Query: "state=all", User: "ada", Status: 200, API: true},
		{Method: "GET", Path: pullsPath + "/1", User: "eve", Status: 404, API: true},
	}
	got := w.Requests()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(devforge.Request{}, "Time")); diff != "" {
		t.Errorf("each request is logged (-want +got):\n%s", diff)
	}
	for _, r := range got {
		if r.Time.Before(before) || r.Time.After(time.Now()) {
			t.Errorf("and when it came in: got %v", r.Time)
		}
	}
}
