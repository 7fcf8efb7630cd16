package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// said has the record tell what the step said when it was entered.
func said(replicas string, requests int32, matches ...v1alpha1.RequestMatch) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) {
		s.EnteredStep = &v1alpha1.EnteredStep{Replicas: intstr.Parse(replicas), Traffic: requests, Matches: matches}
	}
}

// TestAnEditedStepTakesMoreWhenItsGatesHavePassed: a step that is edited takes less at once, and
// more once its gates have passed: then it asks them again.
func TestAnEditedStepTakesMoreWhenItsGatesHavePassed(t *testing.T) {
	t.Parallel()
	const name = "web-v2-1-0-0"
	blocking := blocked(v1alpha1.StepBlocking, name)
	raised := func() *scene { return doneStep().steps(step("5"), step("50%"), step("100%")).status(said("1", 0)) }
	closes := "close gate web-v2-1-0-0: the step says more than when they were opened"
	checkPlans(t, map[string]planned{
		"its gate waits": {raised().gates(gate(1, 0, 0)).status(blocking), outcome{Is: "RollingUpdate 1/3 Blocking StepBlocking"}},
		"... and passes": {
			raised().gates(gate(1, 0, 0, passed)).status(blocking),
			outcome{Script: []string{closes, "scale v2 1 -> 2: batch 1/3"}, Is: "RollingUpdate 1/3 Upgrade StepUpgrading", Wake: longestLook},
		},
		"... and gates of another step, which are evidence, stay": {
			raised().gates(gate(1, 0, 0, passed), gate(1, 2, 0, passed)).status(blocking),
			outcome{Script: []string{closes, "scale v2 1 -> 2: batch 1/3"}, Is: "RollingUpdate 1/3 Upgrade StepUpgrading", Wake: longestLook},
		},
		"it is the last one now, and its gate waits": {
			doneStep().steps(step("100%", manual)).status(said("1", 0)).gates(gate(1, 0, 0)).status(blocking),
			outcome{Is: "RollingUpdate 1/1 Blocking StepBlocking"},
		},
		"... and passes now": {
			doneStep().steps(step("100%", manual)).status(said("1", 0)).gates(gate(1, 0, 0, passed)).status(blocking),
			outcome{Script: []string{closes, "scale v2 1 -> 2: batch 1/1"}, Is: "RollingUpdate 1/1 Upgrade StepUpgrading", Wake: longestLook},
		},
		"it says less than there is: pods that run stay, and no more come": {
			held(10).at(0, 5).steps(step("10%"), step("100%")).status(said("50%", 0)).sets(set("v1", 7), set("v2", 3)),
			outcome{Script: []string{"open gate web-v2-1-0-0 (manual): batch 1/2 is done"}, Is: "RollingUpdate 1/2 Blocking StepBlocking"},
		},
		"... and scaled down, they shrink to the new share": {
			held(10).at(0, 5).steps(step("10%"), step("100%")).status(said("50%", 0)).sets(set("v1", 9), set("v2", 3)).scaledFrom(20),
			outcome{Script: []string{"scale v2 3 -> 1: fewer replicas: the batch shrinks in proportion"}, Is: "RollingUpdate 1/2 Upgrade StepUpgrading", Wake: longestLook},
		},
		"scaled up meanwhile, it keeps the share that it had": {
			doneStep().steps(step("50%"), step("100%")).status(said("10%", 0)).gates(gate(1, 0, 0)).status(blocking).scaledFrom(5),
			outcome{Is: "RollingUpdate 1/2 Blocking StepBlocking"},
		},
		"... also where the edited one is as much, but for the rounding": {
			held(2).at(0, 0).steps(step("1"), step("100%")).status(said("1%", 0)).sets(set("v1", 2), set("v2", 0)).scaledFrom(1),
			outcome{Script: []string{"open gate web-v2-1-0-0 (manual): batch 1/2 is done"}, Is: "RollingUpdate 1/2 Blocking StepBlocking"},
		},
	})
}

// TestAnEditedStepIsTold: people who look at the gate read that an approval brings more than they
// see, and then that it does.
func TestAnEditedStepIsTold(t *testing.T) {
	t.Parallel()
	raised := func() *scene { return doneStep().steps(step("5"), step("50%"), step("100%")).status(said("1", 0)) }
	blocking := blocked(v1alpha1.StepBlocking, "web-v2-1-0-0")
	waits := next(t, raised().gates(gate(1, 0, 0)).status(blocking)).Status
	if want := "batch 1/3 done with 1 pod of 10, waiting for gate: manual; the step was edited since, and takes more once they have passed"; waits.Message != want {
		t.Errorf("it says %q, want %q", waits.Message, want)
	}
	again := raised().gates(gate(1, 0, 0, passed)).status(blocking)
	again.Now = again.Now.Add(time.Minute)
	events := strings.Join(messages(next(t, again).Events), "\n")
	if !strings.Contains(events, "batch 1/3: updating to 5 pods of 10") {
		t.Errorf("the events say %q, want that the step is entered again", events)
	}
}

// TestAnEditedStepTakesNoMoreByAJumpBack: a jump back takes no more pods or requests than the step
// before it had, until the gates have passed.
func TestAnEditedStepTakesNoMoreByAJumpBack(t *testing.T) {
	t.Parallel()
	back := func(first v1alpha1.Step) *v1alpha1.BatchReleaseStatus {
		s := held(10).steps(first, step("100%"), step("100%")).at(1, 5).status(said("50%", 20)).sets(set("v1", 5), set("v2", 5))
		s.Release.Spec.ReleaseTo = new(int32(0))
		status := next(t, s).Status
		return &status
	}
	for replicas, want := range map[string]string{"100%": "50%", "8": "50%", "30%": "30%", "2": "2"} {
		status := back(step(replicas))
		if said := status.EnteredStep; status.CurrentStepIndex != 0 || said == nil || said.Replicas.String() != want || status.TargetReplicas != 5 {
			t.Errorf("%s: step %d, entered as %+v, target %d; want step 0, %s, target 5", replicas, status.CurrentStepIndex, said, status.TargetReplicas, want)
		}
	}
	was, now := &v1alpha1.EnteredStep{Replicas: intstr.Parse("50%"), Traffic: 20}, &v1alpha1.EnteredStep{Replicas: intstr.Parse("50%"), Traffic: 80}
	if lower := held(10).look().steps().atMost(now, was); lower.Traffic != 20 {
		t.Errorf("80%% of the requests after 20%%: it is entered with %d%%", lower.Traffic)
	}
}

func TestAnEditedStepGivesNoMoreRequests(t *testing.T) {
	t.Parallel()
	header := func(name string) v1alpha1.RequestMatch {
		return v1alpha1.RequestMatch{Headers: []v1alpha1.ValueMatch{{Name: name, Value: "yes"}}}
	}
	edited := func(requests string, matches ...v1alpha1.RequestMatch) *snapshot {
		s := held(10).steps(v1alpha1.Step{Replicas: intstr.Parse("80%"), Traffic: requests, Matches: matches}, step("100%"))
		s.Release.Spec.Strategy.Traffic = &v1alpha1.Traffic{Routes: []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}}}
		s.Traffic = &traffic.Seen{}
		return s.at(0, 8).status(said("80%", 20, header("tester"))).look()
	}
	tests := map[string]struct {
		look    *snapshot
		weight  int32
		matches int
		raised  bool
	}{
		"as it was":          {edited("20%", header("tester")), 20, 1, false},
		"a higher share":     {edited("80%", header("tester")), 20, 1, true},
		"a lower share":      {edited("5%", header("tester")), 5, 1, false},
		"another match":      {edited("20%", header("tester"), header("everybody")), 20, 1, true},
		"... in its place":   {edited("20%", header("everybody")), 20, 0, true},
		"no match any more":  {edited("20%"), 20, 0, false},
		"lower, and a match": {edited("5%", header("everybody")), 5, 0, true},
	}
	for name, test := range tests {
		share := trafficGoal(test.look, traffic.Forward, 8).Share
		if share.Weight != test.weight || len(share.Matches) != test.matches || test.look.steps().raised() != test.raised {
			t.Errorf("%s: want %d%%, %d matches, raised %t; got %d%%, %d, %t", name, test.weight, test.matches, test.raised,
				share.Weight, len(share.Matches), test.look.steps().raised())
		}
	}
}
