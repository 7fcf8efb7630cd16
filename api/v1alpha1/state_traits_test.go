package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestStateTraits checks that the table has a row for each state of the API, and no other, and that
// the API server takes each.
func TestStateTraits(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "state_types.go", nil, parser.SkipObjectResolution|parser.ParseComments)
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
	var taken []string
	ast.Inspect(file, func(node ast.Node) bool {
		if decl, is := node.(*ast.GenDecl); is && decl.Tok == token.TYPE && decl.Specs[0].(*ast.TypeSpec).Name.Name == "ReleaseState" {
			for _, line := range decl.Doc.List {
				if list, is := strings.CutPrefix(line.Text, "// +kubebuilder:validation:Enum="); is {
					taken = strings.Split(list, ";")
				}
			}
		}
		return true
	})
	for _, state := range taken {
		if !constants[ReleaseState(state)] {
			t.Errorf("the Enum of ReleaseState has %s, which is no state", state)
		}
	}
	for state := range constants {
		if !slices.Contains(taken, string(state)) {
			t.Errorf("the Enum of ReleaseState lacks %s: the API server refuses it", state)
		}
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
