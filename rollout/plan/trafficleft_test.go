package plan

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

var webRoute = v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}

// shared adds a route that gives half of the requests to v2.
func shared(o *Observation) {
	o.Release.Spec.Strategy.Traffic = &v1alpha1.Traffic{Routes: []v1alpha1.TrafficRoute{webRoute}}
	if o.Release.Spec.Strategy.Steps[0].Traffic == "" {
		o.Release.Spec.Strategy.Steps[0].Traffic = "10%"
	}
	o.Traffic = &traffic.Seen{
		Services: true, Stable: traffic.Side{Made: true, Revision: "v1", Ready: 5}, Canary: traffic.Side{Made: true, Revision: "v2", Ready: 5},
		Routes: []traffic.Route{{TrafficRoute: webRoute, Named: true, Held: true, Whole: true, Accepted: true, Share: traffic.Share{Weight: 50}}},
	}
}

// sharedBy returns a change after which routes give the second version these percentages.
func sharedBy(weights ...int32) func(*Observation) {
	return func(o *Observation) {
		shared(o)
		route := o.Traffic.Routes[0]
		o.Traffic.Routes = nil
		for _, weight := range weights {
			route.Share.Weight = weight
			o.Traffic.Routes = append(o.Traffic.Routes, route)
		}
	}
}

// TestADeletedReleaseThatWaitsForItsRoutesKeepsItsWorkloadPaused: the native controller takes all
// old pods away at once of a workload that somebody has unpaused, and a release that is deleted may
// wait for its routes for long.
func TestADeletedReleaseThatWaitsForItsRoutesKeepsItsWorkloadPaused(t *testing.T) {
	t.Parallel()
	unpausedAgain := func(o *Observation) { deploymentOf(o.Workload).Paused = false }
	restored := func(o *Observation) {
		o.Traffic.Routes[0] = traffic.Route{TrafficRoute: webRoute, Named: true, Accepted: true}
	}
	off := func(o *Observation) {
		o.Traffic = &traffic.Seen{Off: &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled}}
		o.Release.Status.Traffic = &v1alpha1.TrafficStatus{StableRevision: "v1"}
	}
	for name, test := range map[string]struct {
		scene *scene
		want  string
	}{
		"the routes are being given back": {held(10).but(shared).but(restored).but(unpausedAgain).deleted(), "take over"},
		"nobody can give them back":       {held(10).but(shared).but(off).but(unpausedAgain).deleted(), "take over"},
		"it is paused":                    {held(10).but(shared).but(off).deleted(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(script(next(t, test.scene)), "; "); !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
				t.Errorf("plan is %q, want %q", got, test.want)
			}
		})
	}
}

// TestServicesGoOfAReleaseThatHasNothingToRelease: a release that has nothing to release may have
// Services left, of one that was rolled back while its workload was away.
func TestServicesGoOfAReleaseThatHasNothingToRelease(t *testing.T) {
	t.Parallel()
	nothingGiven := func(o *Observation) {
		o.Release.Status, o.Given, o.Resolved = v1alpha1.BatchReleaseStatus{}, "", nil
		o.Traffic.Routes[0] = traffic.Route{TrafficRoute: webRoute, Named: true, Accepted: true}
		o.Traffic.InEffect = drainFor(nil)
	}
	got := strings.Join(script(next(t, running(10).but(shared).but(nothingGiven))), "; ")
	if want := (traffic.DropSides{}).String(); !strings.Contains(got, want) {
		t.Errorf("plan is %q, want %q", got, want)
	}
}

// TestAStatusThatTellsOfSharedRoutesStaysWithoutTraffic: without --traffic, only the status knows
// of shared routes, so it stays through every decision.
func TestAStatusThatTellsOfSharedRoutesStaysWithoutTraffic(t *testing.T) {
	t.Parallel()
	off := func(o *Observation) {
		o.Traffic = &traffic.Seen{Off: &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled}}
		o.Release.Status.Traffic = &v1alpha1.TrafficStatus{StableRevision: "v1"}
	}
	for name, s := range map[string]*scene{
		"the workload is put back":  held(10).but(shared).but(func(o *Observation) { deploymentOf(o.Workload).Paused = false }),
		"a rollback begins":         held(10).but(shared).annotated(v1alpha1.RollbackAnnotation, "true"),
		"another release begins":    held(10).but(shared).resolved("v3").but(func(o *Observation) { o.Given = "given-v3" }),
		"the workload has arrived":  running(10).but(shared).sets(set("v1", 0), set("v2", 10)).status(func(s *v1alpha1.BatchReleaseStatus) { *s = held(10).at(2, 10).Release.Status }).but(func(o *Observation) { o.Workload.Digest, o.Workload.Revision = "digest-v2", "v2" }),
		"the workload is not there": held(10).but(shared).but(func(o *Observation) { o.Workload = nil }),
	} {
		told := Next(s.but(off).Observation).Status.Traffic
		if told == nil || told.StableRevision != "v1" || told.Problem == nil {
			t.Errorf("%s: the status says %+v of the traffic, want what it said and why nobody can tell", name, told)
		}
	}
}
