package show

import (
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// shifting returns a release whose pods are there, and whose requests are being moved.
func shifting(change func(*v1alpha1.BatchRelease)) *Whole {
	w := shop()
	w.Release.Spec.Strategy.Traffic = &v1alpha1.Traffic{}
	w.Release.Spec.Strategy.Steps[1].Traffic = "20%"
	w.Release.Spec.Strategy.Steps[1].Matches = make([]v1alpha1.RequestMatch, 1)
	s := &w.Release.Status
	s.State, s.CurrentStepState, s.Message = v1alpha1.StateShifting, v1alpha1.StepUpgrade, "batch 2/4: moving requests: 20% to revision new"
	s.Traffic = &v1alpha1.TrafficStatus{
		Weight: 5, TargetWeight: 20, StableRevision: "old", CanaryRevision: "new", Awaits: v1alpha1.AwaitedDrain, Since: new(at(7 * time.Second)),
	}
	change(w.Release)
	return w
}

// columns are what stands between them.
var columns = regexp.MustCompile(` {2,}`)

// TestTraffic: who gets requests is a node of the tree, as the values of the status have it.
func TestTraffic(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.BatchRelease)
		want   []string
	}{
		"Shifting": {"the share, its target, and what is waited for since when", func(*v1alpha1.BatchRelease) {}, []string{
			"├─ ▸ traffic ▰▱▱▱▱▱▱▱▱▱ 5% of requests to revision new, 95% to revision old, on the way to 20%",
			"│ └─ ▸ waits for the last requests of pods whose share was lowered (7s)",
		}},
		"Route": {"of several routes, the one that is waited for is named", func(r *v1alpha1.BatchRelease) {
			r.Status.Traffic.Awaits, r.Status.Traffic.AwaitsObject = v1alpha1.AwaitedRoutes, "HTTPRoute shop/web"
		}, []string{
			"├─ ▸ traffic ▰▱▱▱▱▱▱▱▱▱ 5% of requests to revision new, 95% to revision old, on the way to 20%",
			"│ └─ ▸ waits for the routes to be in effect: HTTPRoute shop/web (7s)",
		}},
		"Steady": {"what is as it is to be began then", func(r *v1alpha1.BatchRelease) {
			r.Status.Traffic.Weight, r.Status.Traffic.Awaits, r.Status.Traffic.Matches = 20, "", 1
		}, []string{"├─ ✔ traffic ▰▰▱▱▱▱▱▱▱▱ 20% of requests and 1 match to revision new, 80% to revision old (7s)"}},
		"Unmade": {"a side that is not made has no revision", func(r *v1alpha1.BatchRelease) {
			r.Status.Traffic = &v1alpha1.TrafficStatus{TargetWeight: 20}
		}, []string{"├─ ▸ traffic ▱▱▱▱▱▱▱▱▱▱ 0% of requests to the new version, 100% to the one before, on the way to 20%"}},
		"Problem": {"what somebody has to fix names the object, and what to do", func(r *v1alpha1.BatchRelease) {
			r.Status.Traffic = &v1alpha1.TrafficStatus{
				Weight: 20, TargetWeight: 20, StableRevision: "old", CanaryRevision: "new",
				Problem: &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotAccepted, Object: "HTTPRoute shop/web", Message: "no \x1b[2J\nlistener"},
			}
		}, []string{
			"├─ ✖ traffic ▰▰▱▱▱▱▱▱▱▱ 20% of requests to revision new, 80% to revision old",
			"│ └─ ✖ problem HTTPRoute shop/web: no [2J listener: see its status, and that of its Gateway",
		}},
		"Silent": {"who does not tell that they follow a route, and until when they are waited for", func(r *v1alpha1.BatchRelease) {
			r.Status.Traffic.PendingParents, r.Status.Traffic.AcceptDeadline = []string{"HTTPRoute web: Gateway public"}, new(at(-time.Minute))
		}, []string{"│ └─ ▸ silent HTTPRoute web: Gateway public, waited for until "}},
		"GaveUp": {"... or that they are not any more", func(r *v1alpha1.BatchRelease) {
			r.Status.Traffic.PendingParents, r.Status.Traffic.GaveUp = []string{"HTTPRoute web: Gateway public"}, true
		}, []string{"│ └─ ▸ silent HTTPRoute web: Gateway public, not waited for any more"}},
		"Ending": {"old pods that are kept for a while, and for how long they were", func(r *v1alpha1.BatchRelease) {
			r.Spec.Strategy.Traffic.KeepOldPods, r.Spec.Strategy.Traffic.OldPodsDelaySeconds = true, 3600
			r.Status.Traffic = &v1alpha1.TrafficStatus{
				Weight: 100, TargetWeight: 100, StableRevision: "old", CanaryRevision: "new", Awaits: v1alpha1.AwaitedOldPodsDelay, Since: new(at(time.Minute)),
				Ending: &v1alpha1.TrafficEnding{Since: at(20 * time.Minute), WaitedSeconds: 900},
			}
		}, []string{
			"├─ ▸ traffic ▰▰▰▰▰▰▰▰▰▰ 100% of requests to revision new, 0% to revision old",
			"│ ├─ ▸ waits for the time for which old pods are kept (60s)",
			"│ └─ end after 1h0m0s, of which 15m0s have passed, old pods go, and then the routes get back what they had (20m)",
		}},
		"EndingAtOnce": {"those that are not kept just go", func(r *v1alpha1.BatchRelease) {
			r.Status.Traffic.Ending = &v1alpha1.TrafficEnding{Since: at(time.Second)}
		}, []string{"│ └─ end old pods go, and then the routes get back what they had (1s)"}},
		"Steps": {"each batch says what it gives", func(*v1alpha1.BatchRelease) {}, []string{
			"├─ ✔ batch 1/4 1 pod, 0% of requests",
			"├─ ▸ batch 2/4 50%, 20% of requests and 1 match: 2 of 2 pods updated, 2 available",
			"├─ batch 3/4 75%, 20% of requests\n",
			"├─ batch 4/4 100%, 100% of requests\n",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := columns.ReplaceAllString(strings.Join(Draw(Tree(shifting(tc.change)), noon, false), "\n"), " ")
			for _, part := range tc.want {
				if !strings.Contains(got, part) {
					t.Errorf("%s: want %q in:\n%s", tc.reason, part, got)
				}
			}
		})
	}
}

// TestNoTraffic: without routes, and where the status is about another template, nothing is told of
// requests.
func TestNoTraffic(t *testing.T) {
	t.Parallel()
	stale := shifting(func(r *v1alpha1.BatchRelease) { r.Generation = 2 })
	stale.Release.Spec.Strategy.Traffic = nil
	back := shifting(func(r *v1alpha1.BatchRelease) {
		r.Status.Rollback, r.Status.Traffic = &v1alpha1.RollbackRecord{}, nil
		r.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("50%")}, {Replicas: intstr.FromString("100%")}}}
	})
	for name, w := range map[string]*Whole{"None": shop(), "Stale": stale, "Rollback": back} {
		tree := strings.Join(Draw(Tree(w), noon, false), "\n")
		if strings.Contains(tree, "requests") && !strings.Contains(w.Release.Status.Message, "requests") || strings.Contains(tree, "├─ ▸ traffic") || strings.Contains(tree, "of requests") {
			t.Errorf("%s: want nothing of requests in:\n%s", name, tree)
		}
		if name != "Rollback" {
			continue
		}
		if line := Progress(w.Release); line != w.Release.Status.Message {
			t.Errorf("%s: want the message alone, got %q", name, line)
		}
	}
	if cell := trafficCell(stale.Release); cell != "" {
		t.Errorf("want no share of a template before, got %q", cell)
	}
}

// TestTrafficLine: the progress of a release says who gets requests beside its message, which does
// not.
func TestTrafficLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*v1alpha1.BatchRelease)
		want   string
	}{
		"Waits": {func(*v1alpha1.BatchRelease) {}, "batch 2/4: moving requests: 20% to revision new; 5% of requests to revision new, 95% to revision old, on the way to 20%, " +
			"waits for the last requests of pods whose share was lowered"},
		"Problem": {func(r *v1alpha1.BatchRelease) {
			r.Status.StalledBy, r.Status.Held = v1alpha1.StallTrafficBlocked, &v1alpha1.HeldWorkload{}
			r.Status.Message, r.Status.Traffic.Awaits, r.Status.Traffic.Weight = "batch 2/4", "", 20
			r.Status.Traffic.Problem = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled, Message: "the controller runs without --traffic"}
		}, "batch 2/4; 20% of requests to revision new, 80% to revision old; the controller runs without --traffic: run it with --traffic, or take strategy.traffic out of the release"},
		"Silent": {func(r *v1alpha1.BatchRelease) { // in a rollback, which goes on in time
			r.Status.Message, r.Status.Traffic.TargetWeight = "requests go back", 5
			r.Status.Traffic.PendingParents, r.Status.Traffic.AcceptDeadline = []string{"HTTPRoute web: Gateway public"}, new(metav1.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
		}, "requests go back; 5% of requests to revision new, 95% to revision old, waits for the last requests of pods whose share was lowered; " +
			"silent: HTTPRoute web: Gateway public, waited for until 2026-11-25T12:00:00Z"},
		"NotStarted": {func(r *v1alpha1.BatchRelease) { // then the message says it
			r.Status.StalledBy, r.Status.Message = v1alpha1.StallTrafficBlocked, "the workload is not taken over: HTTPRoute shop/web: no rule refers to it"
			r.Status.Traffic = &v1alpha1.TrafficStatus{Problem: &v1alpha1.TrafficProblem{Object: "HTTPRoute shop/web", Message: "no rule refers to it"}}
		}, "the workload is not taken over: HTTPRoute shop/web: no rule refers to it; 0% of requests to the new version, 100% to the one before"},
	} {
		if got := Progress(shifting(tc.change).Release); got != tc.want {
			t.Errorf("%s: want %q, got %q", name, tc.want, got)
		}
	}
}

// TestTrafficColumns: the table has the share, and what requests wait for.
func TestTrafficColumns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change      func(*v1alpha1.BatchRelease)
		share, wait string
	}{
		"Shifting": {func(*v1alpha1.BatchRelease) {}, "5%, to be 20%", "drain"},
		"There": {func(r *v1alpha1.BatchRelease) {
			r.Status.Traffic.Weight, r.Status.Traffic.Awaits = 20, v1alpha1.AwaitedEndpoints
		}, "20%", "endpoints"},
		"Later": {func(r *v1alpha1.BatchRelease) { r.Status.Traffic.Awaits = "Moon" }, "5%, to be 20%", "Moon"},
		"PodsFirst": {func(r *v1alpha1.BatchRelease) {
			r.Status.State = v1alpha1.StateRolling
		}, "5%, to be 20%", ""},
		"Blocked": {func(r *v1alpha1.BatchRelease) {
			r.Status.StalledBy = v1alpha1.StallTrafficBlocked
			r.Status.Reason = "StepUpgrading"
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue}}
		}, "5%, to be 20%", v1alpha1.ReasonTrafficBlocked},
	} {
		release := shifting(tc.change).Release
		if share, wait := trafficCell(release), WaitsFor(release, noon); share != tc.share || wait != tc.wait {
			t.Errorf("%s: want %q and %q, got %q and %q", name, tc.share, tc.wait, share, wait)
		}
	}
}

// TestBar: only all requests fill it, and only none leave it empty.
func TestBar(t *testing.T) {
	t.Parallel()
	for weight, want := range map[int32]int{0: 0, 1: 1, 10: 1, 11: 2, 50: 5, 99: 9, 100: 10, -5: 0, 900: 10} {
		if got := strings.Count(bar(weight), "▰"); got != want {
			t.Errorf("%d%%: want %d full, got %d", weight, want, got)
		}
	}
}

// TestTrafficInHistory: of a template in progress the history says how many requests it gets.
func TestTrafficInHistory(t *testing.T) {
	t.Parallel()
	release := shifting(func(*v1alpha1.BatchRelease) {}).Release
	if got, want := History(release, nil, noon).Rows[0].Cells[4], "Rolling, 5% of requests"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
