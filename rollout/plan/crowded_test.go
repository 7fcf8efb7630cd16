package plan

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// TestPodsThatLeaveNoRoomForRequestsAreTold: pods that the native controller has made beyond the
// step may leave no room for the old ones with which a route begins: only a person can go back.
func TestPodsThatLeaveNoRoomForRequestsAreTold(t *testing.T) {
	t.Parallel()
	s := held(10).steps(v1alpha1.Step{Replicas: step("50%").Replicas, Traffic: "20%"}, step("100%")).at(0, 5).sets(set("v1", 1), set("v2", 9))
	named := v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}
	s.Release.Spec.Strategy.Traffic = &v1alpha1.Traffic{Routes: []v1alpha1.TrafficRoute{named}}
	s.Traffic = &traffic.Seen{Services: true, Routes: []traffic.Route{{TrafficRoute: named, Named: true, Accepted: true}}}
	s.status(func(r *v1alpha1.BatchReleaseStatus) { r.Progress = &v1alpha1.Progress{Available: 9} })
	failed := next(t, s.but(watchedFor(tenMinutes)).but(failing(""))).Status
	if want := "9 pods of the new version leave no room"; !strings.Contains(failed.Message, want) || !strings.Contains(failed.Message, "roll back") {
		t.Errorf("it says %q, want %q, and to roll back", failed.Message, want)
	}
}
