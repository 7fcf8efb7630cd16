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

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/devforge"
)

// calls is a bench of what one release asks of its forge: with a pull request to merge after all steps but the last.
type calls struct {
	fleet
	// goal is how many requests there may be.
	goal int
}

// pullSteps have a pull request to merge after all but the last.
func pullSteps(replicas ...string) []v1alpha1.Step {
	all := steps(replicas...)
	for i := range all[:len(all)-1] {
		all[i].Gates = []v1alpha1.GatePolicy{{PullRequest: &v1alpha1.PullRequestGate{}}}
	}
	return all
}

// run releases once, whatever the number of runs: the requests are the same each time.
func (c calls) run(ctx context.Context, k *kit, _ int) (report, error) {
	var requests []devforge.Request
	err := k.inLab(ctx, func(ctx context.Context, l *lab) error {
		return c.inShop(ctx, l, func(s *shop) (err error) {
			requests, err = c.measure(ctx, s)
			return err
		})
	})
	if err != nil {
		return report{}, err
	}
	return c.report(requests), nil
}

// measure lets a version through gate after gate and returns what Sluice has asked the forge for.
func (c calls) measure(ctx context.Context, s *shop) ([]devforge.Request, error) {
	s.forge.ForgetRequests()
	if _, err := s.push(ctx, 2); err != nil {
		return nil, err
	}
	merged, err := s.mergeUntil(ctx, 2)
	if err != nil {
		return nil, err
	}
	if want := len(c.steps) - 1; merged != want {
		return nil, fmt.Errorf("the release has completed after %d merges, want %d", merged, want)
	}
	if err := pass(ctx, settle); err != nil {
		return nil, err
	}
	requests := slices.DeleteFunc(s.forge.Requests(), func(r devforge.Request) bool { return r.User != releaser })
	s.say("  %d merged, %d requests", merged, len(requests))
	return requests, nil
}

// mergeUntil merges the pull request of each gate as soon as it is there, until an attempt has completed.
func (s *shop) mergeUntil(ctx context.Context, attempt int64) (merged int, err error) {
	done := map[int64]bool{}
	for n := 0; ; {
		changes, more, err := s.log.since(n)
		if err != nil {
			return len(done), err
		}
		n += len(changes)
		for _, change := range changes {
			if released(attempt)(change.object) {
				return len(done), nil
			}
			gate, ok := change.object.(*v1alpha1.Gate)
			if !ok || gate.Status.PullRequest == nil || gate.Status.PullRequest.Number == 0 || done[gate.Status.PullRequest.Number] {
				continue
			}
			done[gate.Status.PullRequest.Number] = true
			if err := s.merge(ctx, gate.Status.PullRequest.Number); err != nil {
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

func (c calls) report(requests []devforge.Request) report {
	kinds, unchanged, git := map[string]int{}, 0, 0
	for _, r := range requests {
		switch {
		case !r.API:
			git++
			continue
		case r.Status == http.StatusNotModified:
			unchanged++
		}
		kinds[kindOf(r)]++
	}
	rows := []row{
		{
			label: "requests to the forge's API", sluice: fmt.Sprint(total(kinds)),
			wanted: fmt.Sprintf("< %d", c.goal), verdict: atMost(total(kinds), c.goal-1),
		},
		{label: "  answered with not modified, which is free", sluice: fmt.Sprint(unchanged)},
	}
	byNumber := func(a, b string) int { return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b)) }
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), byNumber) {
		rows = append(rows, row{label: "  " + kind, sluice: fmt.Sprint(kinds[kind])})
	}
	return report{rows: append(rows, row{label: "requests to Git", sluice: fmt.Sprint(git)})}
}

// what differs between requests of one kind.
var (
	objectNames = regexp.MustCompile(`\b[0-9a-f]{40}\b`)
	numbers     = regexp.MustCompile(`/[0-9]+(/|$)`)
	branches    = regexp.MustCompile(`heads/.*`)
)

// kindOf is the request as GitHub's documentation writes it, without the repository.
func kindOf(r devforge.Request) string {
	_, path, _ := strings.Cut(r.Path, "/api/v3")
	path = strings.TrimPrefix(path, "/repos/"+shopRepository)
	path = objectNames.ReplaceAllString(path, "{sha}")
	path = branches.ReplaceAllString(path, "heads/{branch}")
	path = numbers.ReplaceAllString(path, "/{number}$1")
	return r.Method + " " + cmp.Or(path, "/")
}
