package sim

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestRollbackPastTheVersionThatServes rolls a release of v3 back to v1 while requests go to v2. The
// pods of v2 stay until no Gateway sends them requests, and make room then, also without surge.
func TestRollbackPastTheVersionThatServes(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"78% 25%", "100%"}, {"50% 50%", "100%"}, {"100% 0%", "100% 100%"}} {
		for _, replicas := range []int32{1, 2, 4, 5} {
			for _, bounds := range [][2]int32{{0, 1}, {1, 0}, {1, 1}} {
				for _, event := range []Event{{Kind: Give, Text: "v1"}, {Kind: Rollback, Text: "v1"}} {
					what := fmt.Sprintf("%q of %d, maxSurge %d, maxUnavailable %d, %s", words, replicas, bounds[0], bounds[1], event)
					s := released(Setup{
						Replicas: replicas, Steps: Steps(words...), HistoryLimit: 10, MaxSurge: intstr.FromInt32(bounds[0]), MaxUnavailable: intstr.FromInt32(bounds[1]),
						Traffic: trafficOf(func(t *v1alpha1.Traffic) { t.KeepOldPods = words[0][:4] == "100%" }),
					})
					(Event{Kind: Give, Text: "v3"}).Apply(s)
					s = calmed(s, atStep(0))
					standCalmly(s, nil)
					event.Apply(s)
					if s = calmed(s, ended); unfinished(s.World) != "" || len(s.Broken) > 0 {
						t.Errorf("%s: it ends as %s: %s, broken: %v", what, s.World, unfinished(s.World), s.Broken)
					}
				}
			}
		}
	}
}
