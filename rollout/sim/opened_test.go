package sim

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestGateOutlivesItsProcess: the process dies after it has opened the gate of a step whose entry
// is not recorded yet. The next process leaves that gate and its decision as they are.
func TestGateOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	s := story{setup: ten("2 none", "3", "100%")}
	met := false
	for stop := range tell(s, 0).writes {
		told, rejected := s.begin(stop+1, fault{}), false
		for told.goOn() {
			early := len(told.Gates) > 0 && told.Release.Status.CurrentStepIndex == 0
			rejected = rejected || early && Event{Kind: Reject}.Apply(told.State)
			met = met || rejected && told.Release.Status.State == v1alpha1.StateRejected
		}
		if text := told.text.String(); strings.Contains(text, "steps were edited") {
			t.Errorf("stopped after write %d:\n%s", stop+1, text)
		}
	}
	if !met {
		t.Error("no gate that was rejected before its step was recorded rejects the release")
	}
}
