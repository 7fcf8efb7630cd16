package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
)

// TestStatusCountsPods: the status tells how many of the updated pods are ready and available.
func TestStatusCountsPods(t *testing.T) {
	t.Parallel()
	s := next(t, held(10).bounds("3", "20%").at(1, 5).sets(set("v1", 7), set("v2", 5, current(4), func(x *Set) { x.Ready, x.Available = 3, 2 }))).Status
	if got, want := [3]int32{s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas}, [3]int32{4, 3, 2}; got != want {
		t.Errorf("updated, ready and available are %v, want %v", got, want)
	}
}

// TestJumpByOperatorKeepsWhatGitAskedFor: an operator's jump does not repeat what Git requested
// before.
func TestJumpByOperatorKeepsWhatGitAskedFor(t *testing.T) {
	t.Parallel()
	s := held(10).at(1, 5).sets(set("v1", 5), set("v2", 5)).but(func(o *Observation) { o.Release.Spec.ReleaseTo = new(int32(1)) })
	s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Jump = &v1alpha1.Jump{From: 0, To: 1, By: byGit, Attempt: status.Attempt, ReleaseTo: new(int32(1))}
	}).status(asks(2))
	jump := next(t, s).Status.Jump
	if jump.By != byOperator || jump.ReleaseTo == nil || *jump.ReleaseTo != 1 {
		t.Errorf("the record is %+v, want it to keep that spec.releaseTo 1 was acted on", jump)
	}
}

// TestLastStableIsNotTheBadOne: a workload that was created again from an older, bad version is
// rolled back to a newer one: the bad one, older though it is, is none to go back to.
func TestLastStableIsNotTheBadOne(t *testing.T) {
	t.Parallel()
	s := rollingBack(10).keep("v3").stable("v2", "").look()
	s.history = []Kept{{Revision: "v0", Number: 1}, {Revision: "v2", Number: 2}, {Revision: "v3", Number: 3}}
	if got := lastStable(s, "v2", "v3"); got != "v0" {
		t.Errorf("the last stable revision is %q, want v0: v2 is the one that is left", got)
	}
}

// TestPausePointIsOfOnePod: a confirmation is good for the pod that it names, and not for a later
// one of the same name, as StatefulSets make them.
func TestPausePointIsOfOnePod(t *testing.T) {
	t.Parallel()
	confirmed := &v1alpha1.PausePoint{Pod: "web-0", UID: "first", Confirmed: "web-0"}
	tests := map[string]struct {
		at    *v1alpha1.PausePoint
		uid   types.UID
		pause bool
		want  bool
	}{
		"nothing is confirmed":              {nil, "first", true, true},
		"the pod is confirmed":              {confirmed, "first", true, false},
		"another pod has its name since":    {confirmed, "second", true, true},
		"it waits for the confirmation":     {&v1alpha1.PausePoint{Pod: "web-0", UID: "first"}, "first", true, true},
		"a pod without pause point is free": {nil, "first", false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record{BatchReleaseStatus: v1alpha1.BatchReleaseStatus{PausePoint: test.at}}
			if got := r.pausesBefore(order.Pod{Name: "web-0", UID: test.uid, Pause: test.pause}); got != test.want {
				t.Errorf("the release pauses: %t, want %t", got, test.want)
			}
		})
	}
}

// TestOrderIsRecordedOncePerAttempt: pods go once the order of this attempt is on record for as
// many of them as the step needs.
func TestOrderIsRecordedOncePerAttempt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		recorded *v1alpha1.OrderStatus
		pods     int32
		want     bool
	}{
		"nothing is recorded":                  {nil, 5, false},
		"there are no pods to order":           {nil, 0, true},
		"more are ordered than needed":         {&v1alpha1.OrderStatus{Attempt: 2, Unordered: 2}, 5, true},
		"as many are":                          {&v1alpha1.OrderStatus{Attempt: 2, Unordered: 3}, 5, true},
		"one is missing":                       {&v1alpha1.OrderStatus{Attempt: 2, Unordered: 4}, 5, false},
		"it is the order of an attempt before": {&v1alpha1.OrderStatus{Attempt: 1, Unordered: 3}, 5, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record{BatchReleaseStatus: v1alpha1.BatchReleaseStatus{Attempt: 2, Order: test.recorded}}
			if got := r.inOrder(&mover.Order{Pods: test.pods, Unordered: 3}); got != test.want {
				t.Errorf("the pods are in order: %t, want %t", got, test.want)
			}
		})
	}
}
