package gate

import (
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// creationGrain is what the API server cuts off of a creation time: it keeps whole seconds.
const creationGrain = time.Second

// checkSoak passes when the time to soak has gone by since the gate was made, which is when
// the step was done. The start is stored and the end follows from it, so that neither a
// restart nor a clock that was wrong for a while changes the end.
func checkSoak(g *v1alpha1.Gate, _ Facts, now time.Time) Decision {
	if g.CreationTimestamp.IsZero() {
		return Decision{Status: *g.Status.DeepCopy()} // never stored: no start to count from
	}
	duration := g.Spec.Policy.Soak.Duration.Duration
	end := g.CreationTimestamp.Add(creationGrain + duration)
	if now.Before(end) {
		return waiting(fmt.Sprintf("soaks for %s, until %s", duration, stamp(end)), end)
	}
	return passed(fmt.Sprintf("soaked for %s", duration),
		evidence(EvidenceSoakElapsed, fmt.Sprintf("%s since the step was done", duration), end), now)
}

// stamp returns a time as messages and evidence show it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
