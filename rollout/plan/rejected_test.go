package plan

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Who pushes a fix of a rejected release must read that it waits for a retry, too.
func TestARejectionDoesNotHideThatARetryIsDue(t *testing.T) {
	t.Parallel()
	s := doneStep().gates(gate(1, 0, 0, rejected)).status(rejectedBefore("web-v2-1-0-0")).but(func(o *Observation) {
		o.Workload.Hold.Change = ExternalChange{Kind: v1alpha1.ReasonWorkloadUnpaused, Message: "the workload was unpaused by eve; Sluice restored it"}
	})
	l := s.look()
	told := telling{Decision: nothing(l), before: &l.Release.Status, status: &l.record}
	told.state = Blocked{[]waitingGate{{policy: manual, gate: &l.Gates[0]}}}
	reason, message := told.words()
	if want := "; the workload was unpaused by eve; Sluice restored it; to continue: sluice retry web -n"; reason != v1alpha1.ReasonGateRejected || !strings.Contains(message, want) {
		t.Errorf("it says %s: %s; want %s, and that it %s", reason, message, v1alpha1.ReasonGateRejected, want)
	}
}

// rejectedBefore says that the status names a gate that was rejected.
func rejectedBefore(name string) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) {
		blocked(v1alpha1.StepBlocking, name)(s)
		s.Gates[0].Decision = v1alpha1.DecisionRejected
	}
}
