package sim

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A pass that writes nothing but what tells no two states apart, such as counts, does not go round in circles: a completed
// release counts the pods that it is scaled to.
func TestCountsAreNoCircle(t *testing.T) {
	t.Parallel()
	start := released(Setup{
		Replicas: 1, Steps: Steps("1", "100%"), HistoryLimit: 2, MaxSurge: intstr.FromInt32(0), MaxUnavailable: intstr.FromInt32(1),
	})
	out := Explore(Exploration{Start: start, Offers: []Event{{Kind: Scale, N: 4}, {Kind: PassDies}}})
	if out.Fault != "" || out.States < 10 {
		t.Errorf("%d states visited: %s", out.States, out.Fault)
	}
}

// Where the first pod of a version is refused, without surge, the pods of the other one stay. If one went, the native controller would
// make it again, the other version being alone (T1), for as long as growth is refused.
func TestRefusedGrowthTakesNoPods(t *testing.T) {
	t.Parallel()
	setup := Setup{
		Replicas: 2, Steps: Steps("1", "100%"), HistoryLimit: 2, Deadline: 24 * time.Hour,
		MaxSurge: intstr.FromInt32(0), MaxUnavailable: intstr.FromInt32(1),
	}
	start := calmed(releasing(setup.turning()), func(s *State) bool {
		v1, v2 := s.Set("v1"), s.Set("v2")
		return v2 != nil && v2.Replicas == 2 && v1.Replicas == 0
	})
	seen := []Event{{Kind: SyncSet, Text: "v1"}, {Kind: SyncSet, Text: "v1"}, {Kind: SyncSet, Text: "v2"}}
	for _, e := range append(seen, Event{Kind: Refuse, Text: string(Growth)}, Event{Kind: Elapse}, Event{Kind: Pass}, Event{Kind: Cure}) {
		e.Apply(start)
	}
	if phase := start.Release.Status.Phase; phase != v1alpha1.PhaseRollingBack {
		t.Fatalf("the phase is %s, want the release turned round by its deadline", phase)
	}
	if out := Explore(Exploration{Start: start}); out.Fault != "" {
		t.Errorf("%d states visited: %s", out.States, out.Fault)
	}
}

// A suspension that is seen too late leaves the one pod beyond all replicas that there may be without surge (T1), and no more.
func TestSuspendedUnseen(t *testing.T) {
	t.Parallel()
	setup := Setup{
		Replicas: 1, Steps: Steps("1", "50% none", "100%"), HistoryLimit: 2, Deadline: 24 * time.Hour,
		MaxSurge: intstr.FromInt32(0), MaxUnavailable: intstr.FromInt32(1),
	}
	out := Explore(Exploration{Start: releasing(setup), Offers: append(caches(ReleaseObject), Event{Kind: Suspend})})
	if out.Fault != "" {
		t.Errorf("%d states visited: %s", out.States, out.Fault)
	}
}
