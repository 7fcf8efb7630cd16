package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// TestStateTraits checks that the table has a row for each state of the API, and no other.
func TestStateTraits(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "state_types.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[ReleaseState]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, is := node.(*ast.ValueSpec)
		if !is {
			return true
		}
		if of, is := spec.Type.(*ast.Ident); is && of.Name == "ReleaseState" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			constants[ReleaseState(value)] = true
		}
		return true
	})
	for state := range constants {
		if _, known := states[state]; !known {
			t.Errorf("the table of traits has no row for %s", state)
		}
	}
	for state := range states {
		if !constants[state] {
			t.Errorf("the table of traits has a row for %s, which is no state", state)
		}
	}
}
