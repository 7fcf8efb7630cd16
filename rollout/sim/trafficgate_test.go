package sim

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestGateOpensAfterAScale scales a workload between the first requests of a step and its gate.
// Pods that requests keep don't hold up the gate, though the step's share of the new size is fewer.
func TestGateOpensAfterAScale(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"30% 30%", "30% 20%", "50% 50%", "3 30%"} {
		for _, replicas := range []int32{1, 2, 3, 5, 7, 8, 9, 12, 17} {
			s := calmed(releasing(Setup{
				Replicas: 10, Steps: Steps(step, "100%"), HistoryLimit: 2, Traffic: trafficOf(func(*v1alpha1.Traffic) {}),
				MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0),
			}), func(s *State) bool { return s.Traffic.Routes[0].Weight > 0 })
			if len(s.Release.Status.Gates) > 0 {
				t.Fatalf("%s: the gate was opened before the scale", step)
			}
			(Event{Kind: Scale, N: replicas}).Apply(s)
			standCalmly(s, nil)
			if len(s.Broken) > 0 {
				t.Fatalf("%s, scaled to %d: %s", step, replicas, s.Broken[0])
			}
			if status := s.Release.Status; status.CurrentStepState != v1alpha1.StepBlocking {
				t.Errorf("%s, scaled to %d: phase %s, step %s, want it to wait at its gate: %s", step, replicas, status.Phase, status.CurrentStepState, s.World)
			}
			if s = calmed(s, ended); unfinished(s.World) != "" || len(s.Broken) > 0 {
				t.Errorf("%s, scaled to %d: it ends as %s: %s, broken: %v", step, replicas, s.World, unfinished(s.World), s.Broken)
			}
		}
	}
}

// TestNextStepAfterAScale scales a workload down at the first of two gates. Pods that requests keep
// don't hold up the next step, though they are more than it says, and are not of it.
func TestNextStepAfterAScale(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		overload bool
		words    []string
	}{
		{false, []string{"94% 94%", "98% 98%", "100%"}}, {false, []string{"50% 50%", "60% 60%", "100%"}},
		{true, []string{"10% 50%", "10% 60%", "100%"}}, {true, []string{"30% 60%", "30% 70%", "100%"}},
	} {
		for _, replicas := range []int32{1, 2, 3, 5} {
			s := atFirstGate(Setup{
				Replicas: 20, Steps: Steps(test.words...), HistoryLimit: 2, Traffic: trafficOf(func(t *v1alpha1.Traffic) { t.AllowOverload = test.overload }),
				MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(1),
			})
			(Event{Kind: Scale, N: replicas}).Apply(s)
			standCalmly(s, nil)
			if s = calmed(s, ended); unfinished(s.World) != "" || len(s.Broken) > 0 {
				t.Errorf("%q, scaled to %d: it ends as %s: %s, broken: %v", test.words, replicas, s.World, unfinished(s.World), s.Broken)
			}
		}
	}
}
