package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestNothingChangesALook: a snapshot and its parts are values. Only its constructors write to it;
// all other functions return another.
func TestNothingChangesALook(t *testing.T) {
	t.Parallel()
	makers := []string{"snapshotOf", "with"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, is := decl.(*ast.FuncDecl)
			if !is {
				continue
			}
			for _, value := range looksOf(f) {
				seen++
				for _, at := range writesTo(f, value) {
					if !slices.Contains(makers, f.Name.Name) {
						t.Errorf("%s: %s writes to the look %s", fset.Position(at), f.Name.Name, value)
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d functions take a look: is it still called so?", seen)
	}
}

// looksOf returns the names of a function's parameters that are a snapshot, or a decision, which
// embeds a pointer to one.
func looksOf(f *ast.FuncDecl) []string {
	fields := f.Type.Params.List
	if f.Recv != nil {
		fields = append(fields, f.Recv.List...)
	}
	var names []string
	for _, field := range fields {
		kind := field.Type
		if star, is := kind.(*ast.StarExpr); is {
			kind = star.X
		}
		if ident, is := kind.(*ast.Ident); is && (ident.Name == "snapshot" || ident.Name == "Decision" || ident.Name == "report") {
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// ownFields names the fields of types that are passed by value: a Decision, and its report.
var ownFields = []string{"snap", "actions", "needs", "records", "statusFirst", "wakes", "happened", "refused", "timed", "looks", "status"}

// writesTo returns the places where a function assigns to something that a value points to.
func writesTo(f *ast.FuncDecl, value string) []token.Pos {
	var found []token.Pos
	ast.Inspect(f, func(n ast.Node) bool {
		assign, is := n.(*ast.AssignStmt)
		if !is || assign.Tok == token.DEFINE {
			return true
		}
		for _, left := range assign.Lhs {
			if root, field := rootOf(left); root == value && field != "" && !slices.Contains(ownFields, field) {
				found = append(found, left.Pos())
			}
		}
		return true
	})
	return found
}

// rootOf returns the variable at the start of an expression, and its first field.
func rootOf(e ast.Expr) (root, field string) {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			e, field = x.X, x.Sel.Name
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x.Name, field
		default:
			return "", ""
		}
	}
}

func TestOnlyHandsBack(t *testing.T) {
	t.Parallel()
	before := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, Attempt: 2}
	next := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseFinalizing, Attempt: 2}
	for name, c := range map[string]struct {
		change func(before, next *v1alpha1.BatchReleaseStatus)
		want   bool
	}{
		"a rollout ends":              {func(_, _ *v1alpha1.BatchReleaseStatus) {}, true},
		"a rollback ends":             {func(before, _ *v1alpha1.BatchReleaseStatus) { before.Phase = v1alpha1.PhaseRollingBack }, true},
		"it has not begun":            {func(before, _ *v1alpha1.BatchReleaseStatus) { before.Phase = v1alpha1.PhaseInitial }, false},
		"it goes on":                  {func(_, next *v1alpha1.BatchReleaseStatus) { next.Phase = v1alpha1.PhaseRollingUpdate }, false},
		"another attempt":             {func(_, next *v1alpha1.BatchReleaseStatus) { next.Attempt++ }, false},
		"a gate of its step was open": {func(before, _ *v1alpha1.BatchReleaseStatus) { before.Gates = []v1alpha1.GateReference{{}} }, false},
		"a gate was forced":           {func(_, next *v1alpha1.BatchReleaseStatus) { next.Forced = []v1alpha1.ForcedGate{{}} }, false},
		"a write is refused":          {func(_, next *v1alpha1.BatchReleaseStatus) { next.RefusedWrite = &v1alpha1.RefusedWrite{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, n := *before.DeepCopy(), *next.DeepCopy()
			c.change(&b, &n)
			if got := OnlyHandsBack(&b, &n); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
