package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

func apiRequest(method, path string) devforge.Request {
	return devforge.Request{Method: method, Path: "/api/v3" + path, API: true, User: releaser}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	sha := strings.Repeat("0a", 20)
	for path, want := range map[string]string{
		"/user":                                          "GET /user",
		"/repos/bench/shop":                              "GET /repos/{owner}/{repo}",
		"/repos/bench/shop/pulls/12":                     "GET /pulls/{number}",
		"/repos/bench/shop/pulls/12/files":               "GET /pulls/{number}/files",
		"/repos/bench/shop/statuses/" + sha:              "GET /statuses/{sha}",
		"/repos/bench/shop/compare/" + sha + "..." + sha: "GET /compare/{sha}...{sha}",
		"/repos/bench/shop/git/refs/heads/sluice/a/b/" + sha + "/step-1": "GET /git/refs/heads/{branch}",
	} {
		if got := kindOf(apiRequest(http.MethodGet, path)); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestReportOfCalls(t *testing.T) {
	t.Parallel()
	inRelease := []devforge.Request{
		{Method: http.MethodGet, Path: "/bench/shop.git/info/refs", Git: true, User: releaser},
		apiRequest(http.MethodPost, "/repos/bench/shop/pulls"),
		apiRequest(http.MethodGet, "/repos/bench/shop/pulls/1"),
		apiRequest(http.MethodGet, "/repos/bench/shop/pulls/2"),
	}
	atStart := append([]devforge.Request{apiRequest(http.MethodGet, "/user")}, inRelease[0])
	const want = `B0  calls
                                                          Sluice   wanted
  requests to the forge's API                             3        < 4      met
    GET /pulls/{number}                                   2
    POST /pulls                                           1
  requests to Git                                         1
  before it, from the controller's start on, to the API   1
    GET /user                                             1

`
	if diff := cmp.Diff(want, printed(t, calls{goal: 4}.report(atStart, inRelease), "B0", "calls")); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]verdict{"requests to the forge's API": missed}, verdicts(calls{goal: 3}.report(atStart, inRelease))); diff != "" {
		t.Errorf("verdict at the limit (-want +got):\n%s", diff)
	}
}

func gateOf(attempt, number int64) *v1alpha1.Gate {
	g := &v1alpha1.Gate{}
	g.Name = fmt.Sprintf("web-%d-%d", attempt, number)
	g.Spec.Attempt = attempt
	g.Status.PullRequest = &v1alpha1.PullRequestReference{Number: number}
	return g
}

// TestMergeUntil has the gates of two attempts, one of them told of twice.
func TestMergeUntil(t *testing.T) {
	t.Parallel()
	log := newLog()
	var asked []int64
	merge := func(_ context.Context, number int64) error {
		asked = append(asked, number)
		if number == 4 {
			done := standing(1, v1alpha1.StepCompleted)
			done.Status.Phase = v1alpha1.PhaseCompleted
			log.take(change{object: done})
		}
		return nil
	}
	for _, g := range []*v1alpha1.Gate{gateOf(1, 2), gateOf(2, 0), gateOf(2, 3), gateOf(2, 3), {}, gateOf(2, 4)} {
		log.take(change{object: g})
	}
	merged, err := mergeUntil(t.Context(), log, 2, merge)
	if err != nil || merged != 2 || fmt.Sprint(asked) != "[3 4]" {
		t.Errorf("want both of the attempt merged once: got %v, %d, %v", asked, merged, err)
	}
}
