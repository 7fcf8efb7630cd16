package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestEachGroupHasAState: a group without a last state that always holds would leave a release in
// none.
func TestEachGroupHasAState(t *testing.T) {
	t.Parallel()
	for i, g := range groups {
		last := g.rows[len(g.rows)-1]
		if g != &obstacles && !sameFunc(last.when, always) {
			t.Errorf("group %d: its last state does not always hold", i)
		}
		for j, row := range g.rows {
			if acts := !slices.Contains([]*group{&trains, &preparing, &resting, &rollingGroup}, g); acts != (row.act != nil) && !row.traits.has(gone) {
				t.Errorf("group %d, state %d: what is done is a column of the groups whose states do different things, and of no other", i, j)
			}
			if row.traits.has(hidden) != (row.message == nil) || (row.message == nil) != (row.reason == nil) {
				t.Errorf("group %d, state %d: a state is either hidden or has a reason and a message", i, j)
			}
			if row.traits.has(stops) && row.event != (notice{}) {
				t.Errorf("group %d, state %d: what stops a release decides when that is an event", i, j)
			}
		}
	}
	if last := groups[len(groups)-1]; !last.when(nil) {
		t.Error("the last group does not always hold")
	}
}

// sameFunc reports whether a column is a function: that of a snapshot that is missing answers as it
// does, or panics.
func sameFunc(f, want func(*snapshot) bool) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return f(nil) == want(nil)
}

// TestTableHasEachStateOfTheAPI: each state of the API is a row of the table, and none is listed
// that the API does not have.
func TestTableHasEachStateOfTheAPI(t *testing.T) {
	t.Parallel()
	var told []v1alpha1.ReleaseState
	for _, g := range groups {
		for _, row := range g.rows {
			if !row.traits.has(hidden) {
				told = append(told, row.value)
			}
		}
	}
	known := statesOfAPI(t)
	for _, state := range known {
		if !slices.Contains(told, state) {
			t.Errorf("no row has the state %s", state)
		}
	}
	for _, state := range told {
		if !slices.Contains(known, state) {
			t.Errorf("a row has the state %q, which the API does not", state)
		}
	}
}

// statesOfAPI returns the constants of type ReleaseState.
func statesOfAPI(t *testing.T) []v1alpha1.ReleaseState {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), "../../api/v1alpha1", nil, 0) //nolint:staticcheck // the package is not type-checked
	if err != nil {
		t.Fatal(err)
	}
	var states []v1alpha1.ReleaseState
	for _, file := range packages["v1alpha1"].Files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is {
				return true
			}
			if kind, is := spec.Type.(*ast.Ident); is && kind.Name == "ReleaseState" {
				states = append(states, v1alpha1.ReleaseState(strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)))
			}
			return true
		})
	}
	if len(states) < 15 {
		t.Fatalf("found %d states: are they still constants of ReleaseState?", len(states))
	}
	return states
}
