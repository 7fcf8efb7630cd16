package plan

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// twoRoutes returns a scene of two routes that share requests. The second is gone.
func twoRoutes(s *scene) *scene {
	s.steps(v1alpha1.Step{Replicas: step("1").Replicas, Traffic: "10%"}, step("100%"))
	named := []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}, {Kind: v1alpha1.RouteHTTP, Name: "shop", Service: "web"}}
	s.Release.Namespace, s.Release.Spec.Strategy.Traffic = "shop", &v1alpha1.Traffic{Routes: named}
	s.Traffic = &traffic.Seen{Routes: []traffic.Route{
		{TrafficRoute: named[0], Named: true, Accepted: true},
		{TrafficRoute: named[1], Named: true, Problem: &v1alpha1.TrafficProblem{
			Type: v1alpha1.TrafficRouteNotFound, Object: "HTTPRoute shop/shop", Message: "the route does not exist",
		}},
	}}
	return s
}

func messages(events []Event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.Message)
	}
	return all
}

// TestWaitsForRoutesNameThem: a wait, and a failure for it, name the route or Service, of several.
func TestWaitsForRoutesNameThem(t *testing.T) {
	t.Parallel()
	s := twoRoutes(held(10)).at(0, 1).sets(set("v1", 9), set("v2", 1))
	s.Traffic.Services, s.Traffic.InEffect = true, tenMinutes
	s.Traffic.Stable = traffic.Side{Made: true, Revision: "v1", Ready: 9, Steady: tenMinutes, Fewest: "web-stable"}
	s.Traffic.Canary = traffic.Side{Made: true, Revision: "v2", Ready: 1, Steady: tenMinutes, Fewest: "web-canary"}
	for i := range s.Traffic.Routes {
		r := &s.Traffic.Routes[i]
		r.Held, r.Whole, r.Accepted, r.Problem, r.Share = true, true, i == 0, nil, traffic.Share{Weight: 10}
	}
	told := next(t, s).Status.Traffic
	if told == nil || told.Awaits != v1alpha1.AwaitedRoutes || told.AwaitsObject != "HTTPRoute shop/shop" {
		t.Errorf("want it to wait for HTTPRoute shop/shop, got %+v", told)
	}
	s.Release.Status.Progress.Available = 1
	late := next(t, s.but(watchedFor(tenMinutes)).but(failing(""))).Status
	if want := "batch 1/2: no progress for 10m0s: the status of HTTPRoute shop/shop does not say yet that the route is in effect"; late.Message != want {
		t.Errorf("at its deadline it says %q, want %q", late.Message, want)
	}
	s.Traffic.Routes[1].Accepted, s.Traffic.Routes[0].Share, s.Traffic.Routes[1].Share = true, traffic.Share{}, traffic.Share{}
	s.Traffic.Canary.Steady = 0
	if told = next(t, s).Status.Traffic; told == nil || told.Awaits != v1alpha1.AwaitedEndpoints || told.AwaitsObject != "Service shop/web-canary" {
		t.Errorf("want it to wait for Service shop/web-canary, got %+v", told)
	}
}

// TestOtherWordsOfAGatewayAreNoNews: a Gateway may say the same in other words each time: that is
// no news, and the status need not be written for it at once.
func TestOtherWordsOfAGatewayAreNoNews(t *testing.T) {
	t.Parallel()
	says := func(s *scene, kind v1alpha1.TrafficProblemType, words string) *scene {
		return twoRoutes(s).but(func(o *Observation) {
			o.Traffic.Routes[1].Problem = &v1alpha1.TrafficProblem{Type: kind, Object: "HTTPRoute shop/shop", Message: words}
		})
	}
	for name, begun := range map[string]func() *scene{
		"before it begins":  func() *scene { return running(10).keep("v1").finalized().stable("v1", "") },
		"in its first step": func() *scene { return held(10).at(0, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := next(t, says(begun(), v1alpha1.TrafficNotAccepted, "request 1 is refused")).Status
			then := func(kind v1alpha1.TrafficProblemType) Plan {
				s := begun().status(func(s *v1alpha1.BatchReleaseStatus) { *s = *told.DeepCopy() })
				return next(t, says(s, kind, "request 2 is refused"))
			}
			same, other := then(v1alpha1.TrafficNotAccepted), then(v1alpha1.TrafficNotGranted)
			if !strings.Contains(same.Status.Traffic.Problem.Message, "request 2") {
				t.Errorf("the status says %+v", same.Status.Traffic.Problem)
			}
			if Urgent(&told, &same.Status) || len(same.Events) > 0 {
				t.Errorf("other words are news: %q", messages(same.Events))
			}
			if !Urgent(&told, &other.Status) || len(other.Events) == 0 {
				t.Error("another problem is no news")
			}
		})
	}
}

// TestChangeBesideAGatewaysWordsIsNews: a Gateway that keeps a release from going on does not keep
// it from telling that somebody changes the workload meanwhile.
func TestChangeBesideAGatewaysWordsIsNews(t *testing.T) {
	t.Parallel()
	blocked := func(status *v1alpha1.BatchReleaseStatus) *scene {
		s := twoRoutes(held(10)).at(0, 1).but(func(o *Observation) {
			o.Traffic.Routes[1].Problem = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotAccepted, Object: "HTTPRoute shop/shop", Message: "no"}
		})
		if status != nil {
			s.status(func(is *v1alpha1.BatchReleaseStatus) { *is = *status.DeepCopy() })
		}
		return s
	}
	told := next(t, blocked(nil))
	for _, change := range []func(*Observation){onRecord, unpausedByBob} {
		then := next(t, blocked(&told.Status).but(change))
		if then.Status.StalledBy != v1alpha1.StallTrafficBlocked || told.Status.StalledBy != then.Status.StalledBy {
			t.Fatalf("want the problem of the route to be told in both, got %q after %q", then.Status.StalledBy, told.Status.StalledBy)
		}
		if words := strings.Join(messages(then.Events), "\n"); !strings.Contains(words, "is on hold") {
			t.Errorf("want it to be told that somebody has changed the workload, got %q", words)
		}
		told = then
	}
}
