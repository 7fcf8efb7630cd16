package rollout

import (
	"testing"

	"github.com/sluice-dev/sluice/rollout/workload"
)

// TestEveryKindHasAShell: the pods of each kind that can be released are read and written.
func TestEveryKindHasAShell(t *testing.T) {
	t.Parallel()
	for _, kind := range workload.Kinds {
		v := &view{workload: workload.New(kind)}
		if shells[kind] == nil || v.parts() == nil {
			t.Errorf("%s has no parts", kind)
		}
	}
	if len(shells) != len(workload.Kinds) {
		t.Errorf("%d kinds have parts, want %d", len(shells), len(workload.Kinds))
	}
}
