package plan

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// finalLook returns a look at a release whose updated pods stay updated.
func finalLook(s *scene, updated int32) *snapshot {
	snap := s.look()
	snap.pods.Final, snap.pods.Updated.Known, snap.pods.Updated.Wanted, snap.pods.Updated.Current = true, true, updated, updated
	return snap
}

func TestWhichUpdatedPodsBelongToTheNextStep(t *testing.T) {
	t.Parallel()
	took := finalLook(held(10), 4)
	took.pods.Final = false
	tests := map[string]struct {
		look *snapshot
		want int32
	}{
		"all, where they can be taken back":               {took, 4},
		"those that were approved, where they can't":      {finalLook(held(10).at(0, 3), 4), 3},
		"as many as there are":                            {finalLook(held(10).at(0, 3), 2), 2},
		"before the first step nothing was approved":      {finalLook(held(10).status(notEntered), 4), 0},
		"all, in a rollback, where they are what is good": {finalLook(rollingBack(10), 4), 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := podsAtEntry(test.look); got != test.want {
				t.Errorf("%d pods stay, want %d", got, test.want)
			}
		})
	}
}

func TestWhenPodsAreBeyondTheStep(t *testing.T) {
	t.Parallel()
	third := []v1alpha1.Step{step("30%"), step("100%")}
	unknown := finalLook(held(10).at(0, 3), 4)
	unknown.pods.Updated.Known = false
	loose := finalLook(held(10).at(0, 3), 4)
	loose.pods.Final = false
	expected := func(change ...func(*v1alpha1.BatchReleaseStatus)) *snapshot {
		s := held(10).at(0, 3)
		for _, c := range change {
			s.status(c)
		}
		snap := finalLook(s, 4)
		snap.pods.Updated.Current = 3
		return snap
	}
	seen := func(s *v1alpha1.BatchReleaseStatus) {
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionBeyondStep, Status: metav1.ConditionTrue}}
	}
	tests := map[string]struct {
		look *snapshot
		want bool
	}{
		"more than the step says": {finalLook(held(10).at(0, 3), 4), true},
		"as many":                 {finalLook(held(10).at(0, 4), 4), false},
		"a share is rounded up, however nodes come and go": {finalLook(held(9).steps(third...).at(0, 2), 3), false},
		"beyond the share":                          {finalLook(held(9).steps(third...).at(0, 2), 4), true},
		"in a rollback there is nothing to approve": {finalLook(rollingBack(10), 4), false},
		"before the first step none is asked":       {finalLook(held(10).status(notEntered), 4), false},
		"nobody knows which pods are updated":       {unknown, false},
		"what can be taken back is":                 {loose, false},
		"a pod that is expected does not run":       {expected(), false},
		"one that ran, and comes back, goes on":     {expected(seen), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := beyondStep(&report{s: test.look}); (got != nil) != test.want {
				t.Errorf("beyond is %v, want one: %t", got, test.want)
			}
		})
	}
}
