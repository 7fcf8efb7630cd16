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
		if keeps, until := keepsWaiting(facts.Release, now); keeps != "" {
			return waiting("the window is open, and waits: "+keeps, sooner(opened.Add(openFor(policy)), until))
		}
		return passed("the window is open", evidence(EvidenceWindowOpen, opening(opened, policy), opened), now)
	}
	next, found := schedule.next(now)
	if !found {
		return waiting("waits for a window that never opens", time.Time{})
	}
	return waiting("waits for the window that opens at "+next.Format(time.RFC3339), next)
}

// WindowOpen reports whether a window of a valid policy is open at a time.
func WindowOpen(policy *v1alpha1.WindowGate, at time.Time) bool {
	schedule, err := parseSchedule(policy.Schedule, policy.TimeZone)
	if err != nil {
		return false
	}
	opened, found := schedule.next(at.Add(-openFor(policy)))
	return found && !opened.After(at)
}

// keepsWaiting names the first other thing that keeps the next batch from starting, and until when;
// zero if only a change ends it, and an empty name if there is none. Windows don't wait for each
// other.
func keepsWaiting(release *v1alpha1.BatchRelease, now time.Time) (string, time.Time) {
	if release.Spec.Suspend {
		return "the release is suspended", time.Time{}
	}
	if freeze := release.Frozen(now); freeze != nil {
		if freeze.Until == nil {
			return "the release is frozen", time.Time{}
		}
		return "the release is frozen", freeze.Until.Time
	}
	for _, other := range release.Status.Gates {
		if other.Type != v1alpha1.GateWindow && other.Decision != v1alpha1.DecisionPassed {
			return "gate " + other.Name + " (" + string(other.Type) + ") has not passed", time.Time{}
		}
	}
	return "", time.Time{}
}

// sooner returns the earlier of two times, of which the second may be zero.
func sooner(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
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
