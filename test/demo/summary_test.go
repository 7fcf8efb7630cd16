package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	s := &story{
		environment: &environment{screen: &screen{start: start}},
		claims: claims{
			replicas: 10, maxSurge: 2, maxUnavailable: 1, targets: []int{1, 3, 10},
			confirmations: []confirmation{
				{commit: "123456789a", step: 0, what: "#1"}, {commit: "23456789ab", step: 0, what: "#2"}, {commit: "23456789ab", step: 1, what: "ci/smoke"},
			},
		},
		versions: []*version{
			{number: 1, image: "nginx:1.27", commit: "0123456789", pushed: at(1), finished: at(3)},
			{number: 2, image: "nginx:1.28", commit: "123456789a", pushed: at(4), heldBy: "ci/smoke"},
			{number: 3, image: "nginx:1.29", commit: "23456789ab", pushed: at(8), finished: at(20)},
		},
	}
	want := `  VERSION   IMAGE        COMMIT    PUSHED AT   PASSED GATES                   OUTCOME
  1         nginx:1.27   0123456   1.0 s       -                              deployed at 3.0 s
  2         nginx:1.28   1234567   4.0 s       1/10 by #1                     held by ci/smoke, overtaken by version 3
  3         nginx:1.29   2345678   8.0 s       1/10 by #2, 3/10 by ci/smoke   released at 20.0 s

  least available pods  9 of 10 (promised: at least 9)
  most pods asked for   12 (promised: at most 12); with those that were terminating, 11 at most
  gates                 3 passed, by what was merged or posted; none without
`
	if diff := cmp.Diff(want, summary(s, findings{leastAvailable: 9, mostDesired: 12, mostPods: 11})); diff != "" {
		t.Errorf("the summary says what came of each version, and what the watch log says (-want +got):\n%s", diff)
	}
}

func TestStatusTable(t *testing.T) {
	t.Parallel()
	want := `    ci/smoke          failure   smoke test of the new pods
    sluice/shop/web   pending   batch 1/3: updating to 1 of 10 pods
`
	got := statusTable([]commitStatus{
		{"ci/smoke", stateFailure, "smoke test of the new pods"},
		{"sluice/shop/web", "pending", "batch 1/3: updating to 1 of 10 pods"},
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses are listed as the forge has them (-want +got):\n%s", diff)
	}
}
