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

func TestKindSummary(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	told := func(c cast, surge, unavailable int) *story {
		return &story{
			cast: c,
			claims: claims{
				replicas: 6, maxSurge: surge, maxUnavailable: unavailable, targets: []int{1, 6},
				confirmations: []confirmation{{commit: "123456789a", step: 0, what: "#1"}},
			},
			versions: []*version{{image: "old"}, {number: 2, image: "new", commit: "123456789a", finished: start.Add(20 * time.Second)}},
		}
	}
	stories := []*story{told(cast{kind: "Deployment", name: "web"}, 2, 1), told(cast{kind: "StatefulSet", name: "db"}, 0, 2)}
	want := `  KIND          NAME   IMAGE   PASSED GATES   LEAST AVAILABLE        MOST ASKED FOR    OUTCOME
  Deployment    web    new     1/6 by #1      5 of 6 (promised: 5)   8 (promised: 8)   released at 20.0 s
  StatefulSet   db     new     1/6 by #1      4 of 6 (promised: 4)   6 (promised: 6)   released at 20.0 s

`
	found := []findings{{leastAvailable: 5, mostDesired: 8}, {leastAvailable: 4, mostDesired: 6}}
	if diff := cmp.Diff(want, kindSummary(start, stories, found)); diff != "" {
		t.Errorf("each workload has a line (-want +got):\n%s", diff)
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
