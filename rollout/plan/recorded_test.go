package plan

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
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
