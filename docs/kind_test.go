package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/internal/kinds"
)

// named matches a package of the product, or of its tests, and what it declares.
var named = regexp.MustCompile("`((?:api|approvals|cli|cmd|docs|forge|gitsync|internal|rollout|test)(?:/[a-z0-9]+)*)\\.([A-Za-z][A-Za-z0-9]*)`")

// endings lists the endings of file names, which look like names of packages.
var endings = []string{"go", "md", "yaml", "json", "txt"}

// TestPagesForDevelopersNameWhatExists: every package.Name in them is declared.
func TestPagesForDevelopersNameWhatExists(t *testing.T) {
	t.Parallel()
	all := named.FindAllStringSubmatch(read(t, "../CONTRIBUTING.md")+read(t, "develop/change.md"), -1)
	if len(all) == 0 {
		t.Fatal("CONTRIBUTING.md and change.md name nothing")
	}
	for _, name := range all {
		if slices.Contains(endings, name[2]) {
			continue
		}
		if !declares(t, filepath.Join("..", name[1]), name[2]) {
			t.Errorf("package %s has no %s", name[1], name[2])
		}
	}
}

// declares reports whether a file of a folder declares a name.
func declares(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if names(d, name) {
				return true
			}
		}
	}
	return false
}

// names reports whether a declaration is of a name.
func names(d ast.Decl, name string) bool {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Recv == nil && d.Name.Name == name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.Name == name {
					return true
				}
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					if id.Name == name {
						return true
					}
				}
			}
		}
	}
	return false
}

// kindless lists packages that must treat all kinds alike, by the registry.
var kindless = []string{"cli/act", "cli/handback", "cli/lookup", "cli/preview", "cli/simulate", "cmd/sluice", "internal/kube"}

// meansOther lists files of these packages that name a kind for another reason.
var meansOther = map[string]string{
	"cli/preview/compare.go":   "the field deployment of JSON output is older than other kinds",
	"cmd/sluice/meetroutes.go": "the controller itself runs in a Deployment",
	"cmd/sluice/version.go":    "the controller itself runs in a Deployment",
}

// TestKindsAreNotNamed: a fourth kind needs no change of a package that treats kinds by the
// registry, internal/kinds.All.
func TestKindsAreNotNamed(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, folder := range kindless {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s, %v", folder, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			places := kindsNamed(t, path)
			path = strings.TrimPrefix(filepath.ToSlash(path), "../")
			named[path] = len(places) > 0
			for _, at := range places {
				if meansOther[path] == "" {
					t.Errorf("%s names a kind of workload; take what differs from the registry, internal/kinds.All, or from the kind's room", at)
				}
			}
		}
	}
	for path := range meansOther {
		if !named[path] {
			t.Errorf("%s names no kind of workload any more; take it off the list", path)
		}
	}
}

// kindsNamed returns the places of a file that tell kinds apart.
func kindsNamed(t *testing.T, path string) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	ast.Inspect(file, func(node ast.Node) bool {
		is := false
		switch n := node.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			is = err == nil && slices.Contains(kinds.Names(), text)
		case *ast.SelectorExpr:
			of, _ := n.X.(*ast.Ident)
			room := of != nil && isRoom(of.Name) && slices.Contains([]string{"Object", "Mover", "From"}, n.Sel.Name)
			is = room || of != nil && slices.Contains(kinds.Names(), strings.TrimSuffix(n.Sel.Name, "List"))
		}
		if is {
			places = append(places, strings.TrimPrefix(fset.Position(node.Pos()).String(), "../"))
		}
		return true
	})
	return places
}

// isRoom reports whether a package of the name is the room of a kind.
func isRoom(name string) bool {
	return slices.ContainsFunc(kinds.Names(), func(kind string) bool { return strings.ToLower(kind) == name })
}
