package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// timedScene returns a second step whose last pod replaces one of the first version, which stays
// for 30 seconds, until it gets no more requests. The deadline is 10, of which 9 have passed.
func timedScene(inEffect time.Duration, change func(*traffic.Seen)) *scene {
	seen := silentFor(true, time.Hour)
	seen.InEffect = inEffect
	seen.Routes[0].Accepted, seen.Routes[0].Pending, seen.Routes[0].Share.Weight = true, nil, 10
	change(seen)
	first := v1alpha1.Step{Replicas: step("1").Replicas, Traffic: "10%", Gates: []v1alpha1.GatePolicy{none}}
	s := held(10).steps(first, step("50%"), step("100%")).sets(set("v1", 10), set("v2", 4)).traffic(seen).at(1, 5).but(watchedFor(9 * time.Second))
	s.Release.Spec.Strategy.ProgressDeadlineSeconds, s.Release.Spec.Strategy.Traffic.DrainSeconds = new(int32(10)), new(int32(30))
	return s.status(func(status *v1alpha1.BatchReleaseStatus) { status.Progress.Available = 4 })
}

// TestTimeThatTheReleaseSaysIsNoLackOfProgress: a release does not fail for the time that it says
// itself to wait, and looks again when that is over.
func TestTimeThatTheReleaseSaysIsNoLackOfProgress(t *testing.T) {
	t.Parallel()
	asIs := func(*traffic.Seen) {}
	untold := func(s *traffic.Seen) { s.Routes[0].Accepted = false }
	timed := func(d time.Duration) func(*Observation) { return func(o *Observation) { o.Watched.Timed = d } }
	const bound = 2 * (30*time.Second + 2*v1alpha1.DefaultTrafficReadySeconds*time.Second)
	for name, test := range map[string]struct {
		scene       *scene
		timed, wake time.Duration
	}{
		"pods stay for requests":                   {timedScene(5*time.Second, asIs), 25 * time.Second, 25 * time.Second},
		"... as long as the release says":          {timedScene(30*time.Second, asIs), 0, time.Second},
		"... and not again and again":              {timedScene(5*time.Second, asIs).but(timed(bound - time.Second)), time.Second, 2 * time.Second},
		"... and nobody tells that routes are so":  {timedScene(5*time.Second, untold), 0, time.Second},
		"... but a pod that is asked for does not": {timedScene(5*time.Second, asIs).sets(set("v1", 10), set("v2", 4, available(3))), 0, time.Second},
		"... nor one that is refused":              {timedScene(5*time.Second, asIs).sets(set("v1", 9), set("v2", 4)).but(refusing(addToV2)), 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene)
			if p.Timed != test.timed || p.Wake() != test.wake {
				t.Errorf("want %s that do not count, and another look after %s, got %s, %s: %q", test.timed, test.wake, p.Timed, p.Wake(), script(p))
			}
		})
	}
}

// TestTimedWatches: Time that the release says itself to wait is counted apart, also where another
// process goes on, and where what has counted is put on record.
func TestTimedWatches(t *testing.T) {
	t.Parallel()
	status := func(available, waited int32) *v1alpha1.BatchReleaseStatus {
		return &v1alpha1.BatchReleaseStatus{
			CurrentStepState: v1alpha1.StepUpgrade, Progress: &v1alpha1.Progress{Available: available, WaitedSeconds: waited, Since: metav1.NewTime(noon)},
		}
	}
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	looked := Watches{}.Looked(status(0, 0), at(0)).Timed(30 * time.Second)
	for name, test := range map[string]struct {
		watches         Watches
		status          *v1alpha1.BatchReleaseStatus
		now             time.Time
		progress, timed time.Duration
	}{
		"while it waits":                    {looked, status(0, 0), at(20), 0, 20 * time.Second},
		"what is more counts":               {looked, status(0, 0), at(40), 10 * time.Second, 30 * time.Second},
		"looks take nothing away":           {looked.Looked(status(0, 0), at(20)), status(0, 0), at(40), 10 * time.Second, 30 * time.Second},
		"... unless nothing is left":        {looked.Looked(status(0, 0), at(20)).Timed(0), status(0, 0), at(40), 20 * time.Second, 20 * time.Second},
		"a clock that goes ahead":           {looked, status(0, 0), at(3600), longestLook - 30*time.Second, 30 * time.Second},
		"a clock that goes back":            {looked, status(0, 0), at(-3600), 0, 0},
		"one that could not look meanwhile": {looked.Interrupted(), status(0, 0), at(20), 0, 0},
		"what has counted is on record":     {looked.Looked(status(0, 0), at(40)).Looked(status(0, 10), at(41)), status(0, 10), at(43), 2 * time.Second, 30 * time.Second},
		"another pod has come":              {looked.Looked(status(0, 0), at(20)), status(1, 0), at(25), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.watches.Watched(test.status, test.now)
			if got.Progress != test.progress || got.Timed != test.timed {
				t.Errorf("want %s that count and %s that do not, got %s and %s", test.progress, test.timed, got.Progress, got.Timed)
			}
		})
	}
}

// TestNobodyKeepsAReleaseFromItsDeadline: a release without progress fails, whatever routes,
// Gateways, endpoints and pods look like: the time that does not count for its deadline is
// bounded. Nor does it fail before the deadline.
func TestNobodyKeepsAReleaseFromItsDeadline(t *testing.T) {
	t.Parallel()
	const deadline, bound = 10 * time.Second, 2 * (30*time.Second + 2*v1alpha1.DefaultTrafficReadySeconds*time.Second)
	rapid.Check(t, func(t *rapid.T) {
		var watches Watches
		passed, timed, status := time.Duration(0), time.Duration(0), (*v1alpha1.BatchReleaseStatus)(nil)
		patient := rapid.Bool().Draw(t, "somebody only has the times begin again")
		for {
			s := timedScene(rapid.SampledFrom([]time.Duration{0, time.Second, 29 * time.Second}).Draw(t, "in effect"), func(seen *traffic.Seen) {
				r := &seen.Routes[0]
				if patient {
					return
				}
				r.Accepted, r.Observed = rapid.Bool().Draw(t, "accepted"), rapid.Bool().Draw(t, "observed")
				r.Whole = rapid.IntRange(0, 9).Draw(t, "whole") > 0
				r.Share.Weight = rapid.SampledFrom([]int32{0, 10, 10, 10, 50}).Draw(t, "weight")
				r.Strays = rapid.IntRange(0, 9).Draw(t, "strays") == 0
				seen.Observed = seen.InEffect
				seen.Canary.Ready, seen.Canary.Steady = rapid.Int32Range(0, 4).Draw(t, "ready"), time.Second
			}).but(failing(""))
			if !patient && rapid.Bool().Draw(t, "a pod flaps") {
				s.sets(set("v1", 10), set("v2", 4, available(3)))
			}
			if status != nil {
				s.Release.Status = *status
			}
			elapsed := time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second
			passed += elapsed
			s.Watched = watches.Watched(&s.Release.Status, noon.Add(passed))
			timed = max(timed, s.Watched.Timed)
			p := Next(s.Observation)
			switch failed := p.Status.Phase == v1alpha1.PhaseFailed || p.Needs.Has(ReadFailing); {
			case failed && passed < deadline:
				t.Fatalf("want no failure before the deadline, it fails after %s", passed)
			case failed:
				return
			case timed > bound || passed > deadline+bound+longestLook:
				t.Fatalf("want it to fail, after %s of which %s do not count: %+v", passed, timed, p.Status)
			}
			status = &p.Status
			watches = watches.Looked(status, noon.Add(passed)).Timed(p.Timed)
		}
	})
}
