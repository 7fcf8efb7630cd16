package sim

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
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
