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
		screen: &screen{start: start},
		claims: claims{
			replicas: 10, maxSurge: 2, maxUnavailable: 1, targets: []int{1, 3, 10},
			confirmations: []confirmation{{image: "nginx:1.28", step: 0}, {image: "nginx:1.29", step: 0}, {image: "nginx:1.29", step: 1}},
		},
		versions: []*version{
			{number: 1, image: "nginx:1.27", commit: "0123456789", pushed: at(1), finished: at(3)},
			{number: 2, image: "nginx:1.28", commit: "123456789a", pushed: at(4)},
			{number: 3, image: "nginx:1.29", commit: "23456789ab", pushed: at(8), finished: at(20)},
		},
	}
	want := `  VERSION   IMAGE        COMMIT    PUSHED AT   BATCHES CONFIRMED   OUTCOME
  1         nginx:1.27   0123456   1.0 s       -                   deployed at 3.0 s
  2         nginx:1.28   1234567   4.0 s       1/10                overtaken by version 3
  3         nginx:1.29   2345678   8.0 s       1/10, 3/10          released at 20.0 s

  least available pods  9 of 10 (promised: at least 9)
  most pods asked for   12 (promised: at most 12), at most 11 ran
  gates                 3 confirmed by hand, none passed without
`
	if diff := cmp.Diff(want, summary(s, findings{leastAvailable: 9, mostDesired: 12, mostPods: 11})); diff != "" {
		t.Errorf("the summary says what came of each version, and what the watch log says (-want +got):\n%s", diff)
	}
}
