package docs_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// What our objects say to people: the reasons, the messages and the batch of statuses, conditions
// and events. Kubernetes' own objects, whose reasons are all that there is to go by, have types of
// their own.
var (
	prose   = []string{"Reason", "Message", "Batch"}
	telling = []string{
		"api/v1alpha1.BatchReleaseStatus", "api/v1alpha1.RollbackRecord", "api/v1alpha1.Failure", "api/v1alpha1.RefusedWrite",
		"api/v1alpha1.GateStatus", "api/v1alpha1.Refusal", "api/v1alpha1.Revert", "api/v1alpha1.ReportCause", "api/v1alpha1.FileError",
		"rollout/plan.Event", "rollout/plan.ExternalChange",
		"k8s.io/apimachinery/pkg/apis/meta/v1.Condition", "k8s.io/api/core/v1.Event", "k8s.io/api/events/v1.Event",
	}
)

// TestNothingReadsProse: nothing is decided by what is said to people, so that any of it may be put
// into other words. State, stoppedBy and stalledBy are there to be compared. Whether the same field
// says something else than before may be asked: the answer does not depend on the words.
func TestNothingReadsProse(t *testing.T) {
	t.Parallel()
	for _, module := range []string{"..", "../test"} {
		for _, found := range readsOfProse(t, &packages.Config{Dir: module}, "./...") {
			t.Errorf("%s: compare a typed field instead", found)
		}
	}
}

// TestReadsOfProseAreFound: the test above sees what it has to.
func TestReadsOfProseAreFound(t *testing.T) {
	t.Parallel()
	const source = `package steer

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func reads(r *v1alpha1.BatchRelease, c metav1.Condition, words []string, known map[string]bool) []bool {
	reason := c.Reason
	reason = strings.ToLower(reason)
	switch r.Status.Message {
	case "":
	}
	return []bool{
		r.Status.Reason == v1alpha1.ReasonFrozen,
		r.Status.Batch != "",
		slices.Contains(words, r.Status.Reason),
		strings.HasPrefix("web: "+r.Status.Message, "batch"),
		known[reason],
		len(c.Message) > 0,
		c.Message != r.Status.Message, // it is said twice
		string(r.Status.Phase) == "",
	}
}
`
	file, err := filepath.Abs("../rollout/steer/reads.go")
	if err != nil {
		t.Fatal(err)
	}
	found := readsOfProse(t, &packages.Config{Dir: "..", Overlay: map[string][]byte{file: []byte(source)}}, "./rollout/steer")
	var lines []string
	for _, at := range found {
		lines = append(lines, strings.Split(at, ":")[1])
	}
	if want := []string{"15", "19", "20", "21", "22", "23", "24"}; !slices.Equal(lines, want) {
		t.Errorf("found in lines %q, want %q", found, want)
	}
}

// readsOfProse returns the places in packages, test files aside, that compare, search or take apart
// what is said to people.
func readsOfProse(t *testing.T, config *packages.Config, patterns ...string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles both modules")
	}
	config.Context = t.Context()
	config.Mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
		packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedExportFile
	loaded, err := packages.Load(config, patterns...)
	if err != nil || len(loaded) == 0 {
		t.Fatalf("load %v in %s: %d packages, %v", patterns, config.Dir, len(loaded), err)
	}
	var found []string
	for _, p := range loaded {
		for _, problem := range p.Errors {
			t.Errorf("load %s: %v", p.PkgPath, problem)
		}
		if p.Imports["testing"] != nil { // what helps tests may hold words to what they should be
			continue
		}
		for _, file := range p.Syntax {
			for _, declaration := range file.Decls {
				r := reader{info: p.TypesInfo, holds: map[types.Object]string{}}
				r.follow(declaration)
				for _, at := range r.read(declaration) {
					where := p.Fset.Position(at)
					found = append(found, fmt.Sprintf("%s:%d", where.Filename, where.Line))
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// reader finds what reads prose in one declaration.
type reader struct {
	info *types.Info
	// holds are the variables that prose was assigned to, with the field that it came from.
	holds map[types.Object]string
}

// follow notes the variables that hold prose.
func (r *reader) follow(in ast.Node) {
	for known := -1; known != len(r.holds); {
		known = len(r.holds)
		ast.Inspect(in, func(n ast.Node) bool {
			if assigned, is := n.(*ast.AssignStmt); is && len(assigned.Lhs) == len(assigned.Rhs) {
				for i, to := range assigned.Lhs {
					r.hold(to, r.field(assigned.Rhs[i]))
				}
			}
			return true
		})
	}
}

func (r *reader) hold(variable ast.Expr, field string) {
	name, is := variable.(*ast.Ident)
	if !is || field == "" {
		return
	}
	if object := r.info.ObjectOf(name); object != nil {
		r.holds[object] = field
	}
}

// read returns where prose decides something.
func (r *reader) read(in ast.Node) []token.Pos {
	var found []token.Pos
	note := func(n ast.Node, read bool) {
		if read {
			found = append(found, n.Pos())
		}
	}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			note(n, n.Op != token.ADD && r.field(n.X) != r.field(n.Y))
		case *ast.SwitchStmt:
			note(n, n.Tag != nil && r.field(n.Tag) != "")
		case *ast.CaseClause:
			note(n, slices.ContainsFunc(n.List, func(e ast.Expr) bool { return r.field(e) != "" }))
		case *ast.IndexExpr:
			note(n, r.field(n.Index) != "" || r.field(n.X) != "")
		case *ast.RangeStmt:
			note(n, r.field(n.X) != "")
		case *ast.CallExpr:
			note(n, r.asks(n))
		}
		return true
	})
	return found
}

// rendering are functions that make a text of others, as far as they are in packages that take
// texts apart too.
var rendering = []string{
	"strings.Join", "strings.Repeat", "strings.Replace", "strings.ReplaceAll", "strings.Map", "strings.NewReader", "cmp.Or",
	"slices.Insert", "slices.Concat", "slices.Clone",
}

// renders reports whether a function makes a text of those that it is given.
func renders(function string) bool {
	return slices.Contains(rendering, function) || strings.HasPrefix(function, "strings.To") || strings.HasPrefix(function, "strings.Trim")
}

// asks reports whether a call finds out what prose says. Compared with the same field of another
// object it does not matter.
func (r *reader) asks(call *ast.CallExpr) bool {
	function := r.function(call)
	pkg, _, _ := strings.Cut(function, ".")
	if !slices.Contains([]string{"strings", "regexp", "strconv", "slices", "cmp", "bytes", "len"}, pkg) || renders(function) {
		return false
	}
	fields := make([]string, len(call.Args))
	for i, argument := range call.Args {
		fields[i] = r.field(argument)
	}
	same := len(fields) == 2 && fields[0] == fields[1]
	return !same && slices.ContainsFunc(fields, func(field string) bool { return field != "" })
}

// function returns the function that is called, with its package; of a builtin, its name.
func (r *reader) function(call *ast.CallExpr) string {
	name := call.Fun
	if generic, is := name.(*ast.IndexExpr); is {
		name = generic.X
	}
	switch f := name.(type) {
	case *ast.Ident:
		if _, is := r.info.Uses[f].(*types.Builtin); is {
			return f.Name
		}
	case *ast.SelectorExpr:
		if object := r.info.Uses[f.Sel]; object != nil && object.Pkg() != nil {
			return object.Pkg().Name() + "." + f.Sel.Name
		}
	}
	return ""
}

// field returns the field that an expression has its prose from; empty if it has none.
func (r *reader) field(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return r.field(e.X)
	case *ast.Ident:
		return r.holds[r.info.ObjectOf(e)]
	case *ast.SelectorExpr:
		if selection := r.info.Selections[e]; selection != nil && slices.Contains(prose, e.Sel.Name) && tells(selection) {
			return e.Sel.Name
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return firstOf(r.field(e.X), r.field(e.Y))
		}
	case *ast.CallExpr:
		if len(e.Args) > 0 && (r.info.Types[e.Fun].IsType() || renders(r.function(e))) {
			var fields []string
			for _, argument := range e.Args {
				fields = append(fields, r.field(argument))
			}
			return firstOf(fields...)
		}
	}
	return ""
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// tells reports whether a field is one of a type that is for people.
func tells(selection *types.Selection) bool {
	owner := selection.Recv()
	for _, embedded := range selection.Index()[:len(selection.Index())-1] {
		structure, is := dereferenced(owner).Underlying().(*types.Struct)
		if !is {
			return false
		}
		owner = structure.Field(embedded).Type()
	}
	named, is := dereferenced(owner).(*types.Named)
	if !is || named.Obj().Pkg() == nil {
		return false
	}
	name := strings.TrimPrefix(named.Obj().Pkg().Path(), "github.com/sluice-dev/sluice/") + "." + named.Obj().Name()
	return slices.Contains(telling, name)
}

func dereferenced(t types.Type) types.Type {
	t = types.Unalias(t)
	if pointer, is := t.(*types.Pointer); is {
		return types.Unalias(pointer.Elem())
	}
	return t
}
