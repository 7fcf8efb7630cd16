package sim

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// The process itself sees that a plan breaks an invariant, here because somebody has tampered with it.
func TestTamperedPlanIsSeen(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]func(int32) int32{
		"I1": func(int32) int32 { return 100 }, "I3": func(to int32) int32 { return to + to/5 }, // one more than half of ten
	} {
		s := newState(ten("1", "50%", "100%"))
		s.Next = func(o plan.Observation) plan.Plan {
			next := plan.Next(o)
			for i, action := range next.Actions {
				if scale, is := scaleOf(action); is && scale.Updated && scale.To > scale.From {
					scale.To = to(scale.To)
					next.Actions[i] = plan.MovePods{Write: deployment.Write(scale)}
				}
			}
			return next
		}
		Event{Kind: Give, Text: "v2"}.Apply(s)
		for range maxEvents {
			next, _ := Calm(s)
			if next == nil || len(next.Broken) > 0 {
				s = next
				break
			}
			s = next
		}
		if s == nil || !strings.Contains(strings.Join(s.Broken, "\n"), "the process sees no broken invariant: "+name) {
			t.Errorf("%s: want the broken invariant seen", name)
		}
	}
}
