package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statesOf returns the type of each constant of the API that is a state of a release or of a step.
func statesOf(t *testing.T) map[string]string {
	t.Helper()
	states := map[string]string{}
	for _, name := range []string{"state_types.go", "batchrelease_status_types.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../api/v1alpha1", name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, is := node.(*ast.ValueSpec)
			if !is {
				return true
			}
			if of, is := spec.Type.(*ast.Ident); is && slices.Contains([]string{"ReleaseState", "Phase", "StepState", "StopCause", "StallCause"}, of.Name) {
				states[spec.Names[0].Name] = of.Name
			}
			return true
		})
	}
	return states
}

// TestStatesOfAlertsExist checks that alerts and dashboard name states that there are.
func TestStatesOfAlertsExist(t *testing.T) {
	t.Parallel()
	states := statesOf(t)
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join("../charts/sluice/files", name))
		if err != nil {
			t.Fatal(err)
		}
		named := stateMatchers.FindAllSubmatch(text, -1)
		if len(named) == 0 {
			t.Errorf("%s: want queries of states, found none", name)
		}
		for _, of := range named {
			for state := range strings.SplitSeq(string(of[1]), "|") {
				if states["State"+state] != "ReleaseState" {
					t.Errorf("%s names the state %q, which there is not", name, state)
				}
			}
		}
	}
}

// stateMatchers matches a label matcher of PromQL, alone or in JSON.
var stateMatchers = regexp.MustCompile(`\bstate=~?\\?"([^"\\]+)`)

// planner matches the packages that decide on states, by a table with a row for each.
var planner = regexp.MustCompile(`^(rollout|test|api)/`)

// TestStatesAreReadBySwitches checks that a reader which tells several values of one type apart has
// a case for each of them, so that a new one can't be forgotten. Readers ask the many states of a
// release for a trait instead.
func TestStatesAreReadBySwitches(t *testing.T) {
	t.Parallel()
	states := statesOf(t)
	if len(states) < 30 {
		t.Fatalf("want the states of releases and steps, got %d", len(states))
	}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (planner.MatchString(name+"/") || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".."):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range comparesSeveral(file, states) {
			t.Errorf("%s compares a status with several states of one type: ask a ReleaseState for a trait (api/v1alpha1/state_traits.go), "+
				"switch over another type with a case for each value", place(fset, at))
		}
		for at, missing := range partialSwitches(file, states) {
			t.Errorf("%s has no case for %s", place(fset, at), strings.Join(missing, ", "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// comparesSeveral returns the functions that compare values with several states of one type.
func comparesSeveral(file *ast.File, states map[string]string) []token.Pos {
	var places []token.Pos
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if !is {
			continue
		}
		compared := map[string]map[string]bool{}
		ast.Inspect(f, func(node ast.Node) bool {
			binary, is := node.(*ast.BinaryExpr)
			if !is || binary.Op != token.EQL && binary.Op != token.NEQ {
				return true
			}
			for _, side := range []ast.Expr{binary.X, binary.Y} {
				named, is := side.(*ast.SelectorExpr)
				if !is || states[named.Sel.Name] == "" {
					continue
				}
				other := binary.X
				if other == side {
					other = binary.Y
				}
				of := fmt.Sprint(states[named.Sel.Name], exprText(other))
				if compared[of] == nil {
					compared[of] = map[string]bool{}
				}
				compared[of][named.Sel.Name] = true
			}
			return true
		})
		if slices.ContainsFunc(slices.Collect(maps.Values(compared)), func(some map[string]bool) bool { return len(some) > 1 }) {
			places = append(places, f.Pos())
		}
	}
	return places
}

// partialSwitches returns the switches over states of one type, and the lists of several, that lack
// some of them.
func partialSwitches(file *ast.File, states map[string]string) map[token.Pos][]string {
	partial := map[token.Pos][]string{}
	complete := func(at token.Pos, listed []ast.Expr, least int) {
		of, named := "", map[string]bool{}
		for _, e := range listed {
			if name := stateIn(e); states[name] != "" {
				of, named[name] = states[name], true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(states)) {
			if len(named) >= least && states[name] == of && !named[name] {
				partial[at] = append(partial[at], name)
			}
		}
		if of == "ReleaseState" && len(named) > 1 {
			partial[at] = []string{"a trait of api/v1alpha1/state_traits.go, which readers ask instead"}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SwitchStmt:
			var all []ast.Expr
			for _, clause := range n.Body.List {
				all = append(all, clause.(*ast.CaseClause).List...)
			}
			complete(n.Pos(), all, 1)
		case *ast.CompositeLit:
			complete(n.Pos(), n.Elts, 2)
		}
		return true
	})
	return partial
}

// stateIn returns the name of the constant in an expression, a key or a conversion; empty if there
// is none.
func stateIn(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.KeyValueExpr:
		return stateIn(e.Key)
	case *ast.CallExpr:
		if of, is := e.Fun.(*ast.Ident); is && of.Name == "string" && len(e.Args) == 1 {
			return stateIn(e.Args[0])
		}
	}
	return ""
}

func place(fset *token.FileSet, at token.Pos) string {
	return strings.TrimPrefix(fset.Position(at).String(), "../")
}

// exprText returns a chain of fields as it is written.
func exprText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return exprText(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	default:
		return ""
	}
}
