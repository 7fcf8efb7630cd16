package forge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/forge"
)

// TestPushesOfMovesThatMoveNothing: moves that no honest forge tells of are gone through once, and
// bring nothing.
func TestPushesOfMovesThatMoveNothing(t *testing.T) {
	t.Parallel()
	line := forge.Line([]forge.Commit{{SHA: "a", Parents: []string{"c"}}, {SHA: "b", Parents: []string{"a"}}, {SHA: "c", Parents: []string{"b"}}}, "c")
	honest, idle := forge.Push{Before: "b", After: "c"}, forge.Push{Before: "b", After: "b"}
	if diff := cmp.Diff(map[string]forge.Push{"c": honest}, forge.PushesOf(line, []forge.Push{honest, idle})); diff != "" {
		t.Errorf("a push brings what it moved (-want +got):\n%s", diff)
	}
	back := forge.Push{Before: "c", After: "b"}
	if diff := cmp.Diff(map[string]forge.Push{"c": honest, "b": back, "a": back}, forge.PushesOf(line, []forge.Push{honest, back})); diff != "" {
		t.Errorf("one that came from elsewhere brings all that is left (-want +got):\n%s", diff)
	}
}
