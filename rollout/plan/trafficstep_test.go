package plan

import (
	"maps"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// TestPodsStayWhenAStepIsEntered: the pods that requests need stay in the pass that enters a step,
// too.
func TestPodsStayWhenAStepIsEntered(t *testing.T) {
	t.Parallel()
	s := doneStep().gates(gate(1, 0, 0, passed)).status(blocked(v1alpha1.StepBlocking, "web-v2-1-0-0")).look()
	asked := taskOf(s, s.record.TargetReplicas)
	asked.Keep, asked.Grow, asked.Most = map[string]int32{"v1": 10}, map[string]int32{"v1": 9}, 12
	d, entered := passStep(nothing(s), asked, traffic.Standing{Done: true})
	if d.snap.record.CurrentStepIndex != 1 {
		t.Fatalf("the step is %d, want the next", d.snap.record.CurrentStepIndex)
	}
	if !maps.Equal(entered.Keep, asked.Keep) || !maps.Equal(entered.Grow, asked.Grow) || entered.Most != asked.Most {
		t.Errorf("want what requests need kept, got %v, %v and %d", entered.Keep, entered.Grow, entered.Most)
	}
}

// TestPodsRoundedDownGetTheRequestsOfTheStep: a percentage of pods is rounded down when the
// workload is scaled. The pods that are left out are less than one, and requests don't wait for it.
func TestPodsRoundedDownGetTheRequestsOfTheStep(t *testing.T) {
	t.Parallel()
	s := held(4).steps(v1alpha1.Step{Replicas: step("50%").Replicas, Traffic: "50%"}, step("100%"))
	s.Release.Spec.Strategy.Traffic = &v1alpha1.Traffic{Routes: []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}}}
	s.Traffic = &traffic.Seen{}
	s.at(0, 2).Workload.Replicas = 5
	if g := trafficGoal(s.look(), traffic.Forward, 2); g.Pods != 2 || g.Worth != 3 {
		t.Errorf("%d pods count for %d, want 2 for 3", g.Pods, g.Worth)
	}
	s.Release.Spec.Strategy.Steps[0].Replicas = step("80%").Replicas
	if g := trafficGoal(s.look(), traffic.Forward, 2); g.Worth != 3 {
		t.Errorf("where the step was edited, 2 pods count for %d, want 3", g.Worth)
	}
}

// TestARouteGivesNoMoreOnceTheReleaseStands checks which way requests go in each state.
func TestARouteGivesNoMoreOnceTheReleaseStands(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scene *scene
		want  traffic.Way
	}{
		"a release goes on":              {held(10).but(shared), traffic.Forward},
		"a release has failed":           {held(10).but(shared).status(failedPhase), traffic.Stand},
		"a release is suspended":         {held(10).but(shared).but(suspended), traffic.Stand},
		"a rollback has failed":          {rollingBack(10).but(shared).status(failedPhase), traffic.Back},
		"traffic is taken out of a spec": {held(10).but(shared).but(func(o *Observation) { o.Release.Spec.Strategy.Traffic = nil }), traffic.Leave},
	} {
		if got := trafficWay(test.scene.look()); got != test.want {
			t.Errorf("%s: requests go way %d, want %d", name, got, test.want)
		}
	}
}

// TestOldPodsGoBeforeTheHandBack: where traffic is taken out of a release that keeps its old pods,
// these go before the workload is handed back.
func TestOldPodsGoBeforeTheHandBack(t *testing.T) {
	t.Parallel()
	s := held(3).steps(step("100%")).at(0, 3)
	ending := func(status *v1alpha1.BatchReleaseStatus) {
		status.Traffic = &v1alpha1.TrafficStatus{Ending: &v1alpha1.TrafficEnding{}}
	}
	both := s.sets(set("v1", 3), set("v2", 3)).status(ending).look()
	if _, ended := endTraffic(nothing(both), traffic.Standing{Done: true}); ended {
		t.Error("the release ends beside old pods")
	}
	alone := s.sets(set("v1", 0), set("v2", 3)).status(ending).look()
	if _, ended := endTraffic(nothing(alone), traffic.Standing{Done: true}); !ended {
		t.Error("the release does not end, though no old pods are left")
	}
}

// TestRequestsGoToPodsByTheirOwnName: the canary Service selects the revision that the pods have,
// whatever the template was called before it had any.
func TestRequestsGoToPodsByTheirOwnName(t *testing.T) {
	t.Parallel()
	renamed := held(10).but(shared).but(func(o *Observation) { o.Workload.Revision = "v3" })
	renamed.sets(set("v1", 9), set("v3", 2, func(s *Set) { s.Digest = "digest-v2" }))
	s := renamed.look()
	if canary := trafficGoal(s, traffic.Forward, 1).Canary; canary != "v3" {
		t.Errorf("requests go to %s, want v3", canary)
	}
	if kept := keptOthers(s, map[string]int32{"v1": 4, "v3": 2}); kept != 4 {
		t.Errorf("%d pods of other versions are kept, want 4", kept)
	}
	task := taskOf(s, 5)
	if target := withTraffic(s, task, traffic.Standing{HoldsUp: true, Grow: map[string]int32{"v3": 3}}).Target; target != 3 {
		t.Errorf("up to %d pods come for their requests, want 3", target)
	}
	renamed.Workload.Digest = "digest-v9"
	if canary := trafficGoal(renamed.look(), traffic.Forward, 1).Canary; canary != "v2" {
		t.Errorf("with a template of somebody else requests go to %s, want v2", canary)
	}
}
