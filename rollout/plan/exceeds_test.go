package plan

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestGoesOnToTheStepThatItsPodsReach: a user resumed the workload and scaled it up, and the
// native controller made more updated pods than the next step has. They stay, since every gate up
// to a step with as many pods has passed, and the release continues with that step.
func TestGoesOnToTheStepThatItsPodsReach(t *testing.T) {
	t.Parallel()
	s := held(5).steps(step("3"), step("4", none), step("100%", none)).at(0, 0).scaledFrom(1).
		sets(set("v1", 2), set("v2", 5)).gates(gate(1, 0, 0, passed)).status(blocked(v1alpha1.StepCompleted, "web-v2-1-0-0"))
	if got := next(t, s).Status.CurrentStepIndex; got != 1 {
		t.Errorf("the release stands in step %d, want step 1: its gate has passed", got)
	}
}
