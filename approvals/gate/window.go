package gate

import (
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// defaultWindow is how long a window stays open if its policy does not say.
const defaultWindow = time.Hour

// checkWindow passes while a window is open: the schedule has named a time that is not in the
// future and less than the window's duration ago. The next batch starts once all gates of the batch
// have passed, so the window waits for the others: with soak and window, none starts at night.
func checkWindow(g *v1alpha1.Gate, facts Facts, now time.Time) Decision {
	policy := g.Spec.Policy.Window
	schedule, err := parseSchedule(policy.Schedule, policy.TimeZone)
	if err != nil { // Validate has let it through: never open on what can't be read
		return waiting(err.Error(), time.Time{})
	}
	if opened, found := schedule.next(now.Add(-openFor(policy))); found && !opened.After(now) {
		if keeps := keepsWaiting(facts.Release, now); keeps != "" {
			return waiting("the window is open, and waits: "+keeps, opened.Add(openFor(policy)))
		}
		return passed("the window is open", evidence(EvidenceWindowOpen, opening(opened, policy), opened), now)
	}
	next, found := schedule.next(now)
	if !found {
		return waiting("waits for a window that never opens", time.Time{})
	}
	return waiting("waits for the window that opens at "+next.Format(time.RFC3339), next)
}

// keepsWaiting returns what else keeps the next batch from starting; empty if nothing does. Windows
// don't wait for each other.
func keepsWaiting(release *v1alpha1.BatchRelease, now time.Time) string {
	switch {
	case release.Spec.Suspend:
		return "the release is suspended"
	case release.Frozen(now) != nil:
		return "the release is frozen"
	}
	for _, other := range release.Status.Gates {
		if other.Type != v1alpha1.GateWindow && other.Decision != v1alpha1.DecisionPassed {
			return "gate " + other.Name + " (" + string(other.Type) + ") has not passed"
		}
	}
	return ""
}

// opening says which window was open.
func opening(opened time.Time, policy *v1alpha1.WindowGate) string {
	return fmt.Sprintf("opened at %s (%q in %s) for %s",
		opened.Format(time.RFC3339), policy.Schedule, opened.Location(), openFor(policy))
}

// openFor returns how long a window stays open.
func openFor(policy *v1alpha1.WindowGate) time.Duration {
	if policy.Duration == nil {
		return defaultWindow
	}
	return policy.Duration.Duration
}
