package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// calls is a bench of the forge requests of one release, with a pull request to merge after all
// steps but the last. It counts the requests of the controller's start apart.
type calls struct {
	fleet
	// goal is how many requests to the API there may be, and writes how many of them may change
	// something.
	goal, writes int
}

// pullSteps returns steps with a pull request to merge after all but the last.
func pullSteps(replicas ...string) []v1alpha1.Step {
	all := steps(replicas...)
	for i := range all[:len(all)-1] {
		all[i].Gates = []v1alpha1.GatePolicy{{PullRequest: &v1alpha1.PullRequestGate{}}}
	}
	return all
}

// run releases once, whatever the number of runs: the requests are the same each time.
func (c calls) run(ctx context.Context, k *kit, _ int) (report, error) {
	var atStart, inRelease []devforge.Request
	err := k.inLab(ctx, func(ctx context.Context, l *lab) error {
		return c.inShop(ctx, l, func(s *shop) (err error) {
			atStart = s.asked()
			s.forge.ForgetRequests()
			inRelease, err = c.measure(ctx, s)
			return err
		})
	})
	if err != nil {
		return report{}, err
	}
	return c.report(atStart, inRelease), nil
}

// asked returns what Sluice has asked the forge for.
func (s *shop) asked() []devforge.Request {
	return slices.DeleteFunc(s.forge.Requests(), func(r devforge.Request) bool { return r.User != releaser })
}

// measure lets a version through gate after gate.
func (c calls) measure(ctx context.Context, s *shop) ([]devforge.Request, error) {
	if _, err := s.push(ctx, 2); err != nil {
		return nil, err
	}
	merged, err := mergeUntil(ctx, s.log, 2, s.merge)
	if err != nil {
		return nil, err
	}
	if want := len(c.steps) - 1; merged != want {
		return nil, fmt.Errorf("the release has completed after %d merges, want %d", merged, want)
	}
	if err := pass(ctx, settle); err != nil {
		return nil, err
	}
	requests := s.asked()
	s.say("  %d merged, %d requests", merged, len(requests))
	return requests, nil
}

// mergeUntil merges the pull request of each gate of an attempt as soon as it is there, until the
// attempt has completed.
func mergeUntil(ctx context.Context, log *watchLog, attempt int64, merge func(context.Context, int64) error) (merged int, err error) {
	done := map[int64]bool{}
	for n := 0; ; {
		changes, more, err := log.since(n)
		if err != nil {
			return len(done), err
		}
		n += len(changes)
		for _, change := range changes {
			if released(attempt)(change.object) {
				return len(done), nil
			}
			number := opened(change.object, attempt)
			if number == 0 || done[number] {
				continue
			}
			done[number] = true
			if err := merge(ctx, number); err != nil {
				return len(done), err
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return len(done), fmt.Errorf("wait for the release: %w", context.Cause(ctx))
		}
	}
}

// opened returns the number of the pull request of a gate of that attempt; 0 for anything else.
func opened(object client.Object, attempt int64) int64 {
	gate, ok := object.(*v1alpha1.Gate)
	if !ok || gate.Spec.Attempt != attempt || gate.Status.PullRequest == nil {
		return 0
	}
	return gate.Status.PullRequest.Number
}

func (c calls) report(atStart, inRelease []devforge.Request) report {
	kinds := byKind(inRelease)
	all, writes, git, pushes := total(kinds), 0, 0, 0
	for _, r := range inRelease {
		switch {
		case r.API && r.Method != http.MethodGet:
			writes++
		case r.Git && strings.HasSuffix(r.Path, "/git-receive-pack"):
			pushes++
		case r.Git:
			git++
		}
	}
	rows := []row{
		{label: "requests to the forge's API", sluice: fmt.Sprint(all), wanted: fmt.Sprintf("<= %d", c.goal), verdict: atMost(all, c.goal)},
		{label: "  that change something", sluice: fmt.Sprint(writes), wanted: fmt.Sprintf("<= %d", c.writes), verdict: atMost(writes, c.writes)},
	}
	rows = append(rows, ofKinds(kinds)...)
	rows = append(rows, row{label: "pushes", sluice: fmt.Sprint(pushes)}, row{label: "requests to read by Git", sluice: fmt.Sprint(git)})
	once := byKind(atStart)
	rows = append(rows, row{label: "before it, from the controller's start on, to the API", sluice: fmt.Sprint(total(once))})
	return report{rows: append(rows, ofKinds(once)...)}
}

// ofKinds has a row for each kind of request, the most frequent first.
func ofKinds(kinds map[string]int) []row {
	var rows []row
	byNumber := func(a, b string) int { return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b)) }
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), byNumber) {
		rows = append(rows, row{label: "  " + kind, sluice: fmt.Sprint(kinds[kind])})
	}
	return rows
}

// byKind counts requests to the API.
func byKind(requests []devforge.Request) map[string]int {
	kinds := map[string]int{}
	for _, r := range requests {
		if r.API {
			kinds[kindOf(r)]++
		}
	}
	return kinds
}

// what differs between requests of one kind.
var (
	objectNames = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	numbers     = regexp.MustCompile(`/[0-9]+(/|$)`)
	branches    = regexp.MustCompile(`heads/.*`)
)

// kindOf returns the request as GitHub's documentation writes it, without the repository.
func kindOf(r devforge.Request) string {
	_, path, _ := strings.Cut(r.Path, "/api/v3")
	path = strings.TrimPrefix(path, "/repos/"+shopRepository)
	path = objectNames.ReplaceAllString(path, "{sha}")
	path = branches.ReplaceAllString(path, "heads/{branch}")
	path = numbers.ReplaceAllString(path, "/{number}$1")
	return r.Method + " " + cmp.Or(path, "/repos/{owner}/{repo}")
}
