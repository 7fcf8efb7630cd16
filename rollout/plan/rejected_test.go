package plan

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestARejectionDoesNotHideThatARetryIsDue: who pushes a fix of a rejected release must read that
// it waits for a retry, too.
func TestARejectionDoesNotHideThatARetryIsDue(t *testing.T) {
	t.Parallel()
	s := doneStep().gates(gate(1, 0, 0, rejected)).status(rejectedBefore("web-v2-1-0-0")).but(func(o *Observation) {
		o.Workload.Hold.Change = ExternalChange{Kind: v1alpha1.ReasonWorkloadUnpaused, Message: "the workload was unpaused by eve; Sluice restored it"}
	})
	snap := s.look()
	r := &report{d: nothing(snap), s: snap, before: &snap.release.Status, status: &snap.record.BatchReleaseStatus}
	message := rejectedWords(r)
	if want := "; the workload was unpaused by eve; Sluice restored it; to continue: sluice retry web -n"; !strings.Contains(message, want) {
		t.Errorf("it says %q; want that it contains %q", message, want)
	}
}

// rejectedBefore says that the status names a gate that was rejected.
func rejectedBefore(name string) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) {
		blocked(v1alpha1.StepBlocking, name)(s)
		s.Gates[0].Decision = v1alpha1.DecisionRejected
	}
}

// TestARejectionCountsBesideAGateThatIsRefused rejects a gate while the API server refuses to
// create another one of the step: the release turns round.
func TestARejectionCountsBesideAGateThatIsRefused(t *testing.T) {
	t.Parallel()
	turning := v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}, OnReject: v1alpha1.RejectRollback}
	bears := func(g *v1alpha1.Gate) { g.Spec.Policy = turning }
	s := held(5).steps(step("1", turning, soak), step("100%")).sets(set("v1", 4), set("v2", 1)).gates(gate(1, 0, 0, rejected, bears)).
		but(refusing(WriteOf(OpenGate{Name: "web-v2-1-0-1"})))
	if back := next(t, s).Status.Rollback; back == nil || back.Trigger != v1alpha1.TriggerGateRejected {
		t.Errorf("want a rollback for the rejected gate, got %+v", back)
	}
}
