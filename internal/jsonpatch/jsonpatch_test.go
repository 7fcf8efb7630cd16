package jsonpatch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatchKeepsTheOrder(t *testing.T) {
	t.Parallel()
	data, err := new(Patch).
		Test("/metadata/generation", 7).
		Test(AnnotationPath("x.dev/y"), nil).
		Set("/spec/paused", false).
		Remove(AnnotationPath("x.dev/a~b")).
		Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"op":"test","path":"/metadata/generation","value":7},` +
		`{"op":"test","path":"/metadata/annotations/x.dev~1y","value":null},` +
		`{"op":"add","path":"/spec/paused","value":false},` +
		`{"op":"remove","path":"/metadata/annotations/x.dev~1a~0b","value":null}]`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}
