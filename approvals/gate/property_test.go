package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// zones are some with each kind of clock change: by an hour at night, at midnight, by half an
// hour, on the other half of the globe, with an odd offset, and none.
var zones = []string{
	"", "Europe/Berlin", "America/New_York", "America/Santiago", "America/Havana", "Asia/Beirut",
	"Africa/Cairo", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca",
}

// TestSoakIsNeverEarly: for any clock, a soak passes at the first check after its time is over,
// and not before; until then it asks for a check at its end.
func TestSoakIsNeverEarly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		duration := time.Duration(rapid.Int64Range(1, int64(maxDuration)).Draw(t, "duration"))
		started := made.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)-1).Draw(t, "started")))
		g := newGate(soakPolicy(duration))
		g.CreationTimestamp = metav1.NewTime(started.Truncate(time.Second)) // as the API server keeps it

		jump := rapid.Int64Range(-int64(duration), 2*int64(duration)+int64(2*time.Second))
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			now := started.Add(time.Duration(jump.Draw(t, "clock")))
			got := Evaluate(g, Facts{Release: blockedOn(g)}, now)
			over := !now.Before(started.Truncate(time.Second).Add(time.Second + duration))
			if passed := got.Status.Decision == v1alpha1.DecisionPassed; passed != over {
				t.Fatalf("%s after the start of a soak of %s: want passed %t, got %s", now.Sub(started), duration, over, got.Status.Decision)
			}
			if !over && !got.WakeUp.After(now) {
				t.Fatalf("a soak that waits must ask for a look in the future: now %s, wake-up %s", now, got.WakeUp)
			}
			if over && now.Sub(started) < duration {
				t.Fatalf("passed %s after the start of a soak of %s", now.Sub(started), duration)
			}
		}
	})
}

// TestWindowFollowsTheWallClock compares with the plainest reading of a schedule: walk back
// minute by minute over the window's duration and look at the wall clock.
func TestWindowFollowsTheWallClock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		minutes := someOf(t, "minutes", 0, 59)
		hours := someOf(t, "hours", 0, 23)
		weekdays := someOf(t, "weekdays", 0, 6)
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		duration := time.Duration(rapid.Int64Range(1, int64(3*time.Hour)).Draw(t, "duration"))
		now := nearClockChange(t, zone)

		g := newGate(windowPolicy(fmt.Sprintf("%s %s * * %s", list(minutes), list(hours), list(weekdays)), zone))
		g.Spec.Policy.Window.Duration = &metav1.Duration{Duration: duration}
		got := Evaluate(g, Facts{Release: blockedOn(g)}, now)

		want := false
		for m := now.Truncate(time.Minute); m.After(now.Add(-duration)); m = m.Add(-time.Minute) {
			wall := m.In(location(t, zone))
			want = want || slices.Contains(minutes, wall.Minute()) && slices.Contains(hours, wall.Hour()) &&
				slices.Contains(weekdays, int(wall.Weekday()))
		}
		if open := got.Status.Decision == v1alpha1.DecisionPassed; open != want {
			t.Fatalf("at %s in %q: want open %t, got %s", now.In(location(t, zone)), zone, want, got.Status.Message)
		}
	})
}

// TestWindowWakeUp: a closed window is still closed just before its wake-up and open at it.
func TestWindowWakeUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		g := newGate(windowPolicy(fmt.Sprintf("%s %s %s * *", list(someOf(t, "minutes", 0, 59)),
			list(someOf(t, "hours", 0, 23)), list(someOf(t, "days", 1, 28))), zone))
		g.Spec.Policy.Window.Duration = &metav1.Duration{Duration: time.Second}
		facts := Facts{Release: blockedOn(g)}
		first := Evaluate(g, facts, nearClockChange(t, zone).Add(time.Second))
		if first.Status.Decision == v1alpha1.DecisionPassed {
			t.Skip("open already")
		}
		before := Evaluate(g, facts, first.WakeUp.Add(-time.Nanosecond))
		if diff := cmp.Diff(first, before); diff != "" {
			t.Fatalf("nothing changes before the wake-up: -first +just before:\n%s", diff)
		}
		if at := Evaluate(g, facts, first.WakeUp); at.Status.Decision != v1alpha1.DecisionPassed {
			t.Fatalf("want open at the wake-up %s, got %s", first.WakeUp, at.Status.Message)
		}
	})
}

// TestDecisionsAreFinal: no fact and no clock changes a decision.
func TestDecisionsAreFinal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]v1alpha1.GatePolicy{
			manualPolicy(), soakPolicy(time.Hour), windowPolicy("0 9 * * *", ""), windowPolicy("nonsense", ""),
		}).Draw(t, "policy")
		g := newGate(policy)
		g.Status = v1alpha1.GateStatus{
			Decision: rapid.SampledFrom([]v1alpha1.Decision{v1alpha1.DecisionPassed, v1alpha1.DecisionRejected}).Draw(t, "decision"),
			Message:  "decided before",
		}
		release := blockedOn(g)
		if rapid.Bool().Draw(t, "confirmed") {
			confirm(release, "kubectl-patch")
		}
		now := made.Add(time.Duration(rapid.Int64Range(-int64(maxDuration), int64(maxDuration)).Draw(t, "clock")))
		if diff := cmp.Diff(Decision{Status: g.Status}, Evaluate(g, Facts{Release: release}, now)); diff != "" {
			t.Fatalf("a decision is final: -want +got:\n%s", diff)
		}
	})
}

// TestEvaluateLeavesItsInputs: the function is pure, and its answer shares nothing with them.
func TestEvaluateLeavesItsInputs(t *testing.T) {
	t.Parallel()
	for _, policy := range []v1alpha1.GatePolicy{manualPolicy(), soakPolicy(time.Minute), windowPolicy("* * * * *", "")} {
		g := newGate(policy)
		release := blockedOn(g)
		confirm(release, "kubectl-patch")
		gateBefore, releaseBefore := g.DeepCopy(), release.DeepCopy()

		got := Evaluate(g, Facts{Release: release}, made.Add(time.Hour))
		for i := range got.Status.Evidence {
			got.Status.Evidence[i].Time.Time = time.Time{}
		}
		if diff := cmp.Diff(gateBefore, g); diff != "" {
			t.Errorf("the gate was changed: -before +after:\n%s", diff)
		}
		if diff := cmp.Diff(releaseBefore, release); diff != "" {
			t.Errorf("the release was changed: -before +after:\n%s", diff)
		}
	}
}

// someOf draws a set of numbers, often nearly all of them and often few.
func someOf(t *rapid.T, label string, low, high int) []int {
	most := rapid.SampledFrom([]int{1, 3, high - low + 1}).Draw(t, label+" at most")
	return rapid.SliceOfNDistinct(rapid.IntRange(low, high), 1, most, rapid.ID).Draw(t, label)
}

func list(numbers []int) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(numbers)), ","), "[]")
}

// nearClockChange draws a time of 2018 to 2030, mostly within a day of when the zone's clocks are
// set.
func nearClockChange(t *rapid.T, zone string) time.Time {
	at := time.Unix(rapid.Int64Range(1514764800, 1893456000).Draw(t, "time"), 0).In(location(t, zone))
	if _, end := at.ZoneBounds(); !end.IsZero() && rapid.IntRange(0, 3).Draw(t, "near") > 0 {
		at = end
	}
	return at.Add(time.Duration(rapid.Int64Range(-int64(24*time.Hour), int64(24*time.Hour)).Draw(t, "offset")))
}

func location(t *rapid.T, zone string) *time.Location {
	found, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatalf("load zone: %v", err)
	}
	return found
}
