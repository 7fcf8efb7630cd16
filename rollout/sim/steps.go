package sim

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// matches are those of every step that has some.
var matches = []v1alpha1.RequestMatch{{Headers: []v1alpha1.ValueMatch{{Name: "x-canary", Value: "true"}}}}

// Steps reads steps such as "1", "50% none", "3 soak", "100%": replicas, and then the gates. A gate
// with a minus sign behind it is one that turns the release round when it is rejected. A percentage
// is that of the requests, and matches are requests that go to the new version whatever that is.
func Steps(texts ...string) []v1alpha1.Step {
	var steps []v1alpha1.Step
	for _, text := range texts {
		words := strings.Fields(text)
		step := v1alpha1.Step{Replicas: intstr.Parse(words[0])}
		for _, gate := range words[1:] {
			switch {
			case strings.HasSuffix(gate, "%"):
				step.Traffic = gate
			case gate == "matches":
				step.Matches = matches
			default:
				step.Gates = append(step.Gates, policy(gate))
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// Soak is the duration of a soak gate.
const Soak = 10 * time.Minute

func policy(name string) v1alpha1.GatePolicy {
	if typed, found := strings.CutSuffix(name, "-"); found {
		turning := policy(typed)
		turning.OnReject = v1alpha1.RejectRollback
		return turning
	}
	switch v1alpha1.GateType(name) {
	case v1alpha1.GateNone:
		return v1alpha1.GatePolicy{None: &v1alpha1.NoGate{}}
	case v1alpha1.GateSoak:
		return v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: Soak}}}
	case v1alpha1.GateMetrics:
		return v1alpha1.GatePolicy{Metrics: &v1alpha1.MetricsGate{Provider: "prometheus", Metrics: []v1alpha1.GateMetric{{Name: "errors"}}}}
	default:
		return v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}
	}
}

// Target returns a step's share of replicas when it is entered, by the words of the API: a
// percentage is rounded up, and short of 100% an old pod stays.
func Target(step v1alpha1.Step, replicas int32) int32 {
	up, _ := intstr.GetScaledValueFromIntOrPercent(&step.Replicas, int(replicas), true)
	if step.Replicas.StrVal == "100%" {
		return replicas
	}
	return max(min(int32(up), replicas-1), 0)
}
