package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named matches a package of the product, or of its tests, and what it declares.
var named = regexp.MustCompile("`((?:internal|rollout|test)(?:/[a-z]+)*)\\.([A-Za-z]+)`")

// TestAddAKindNamesWhatExists: what the sketch of another kind refers to is declared.
func TestAddAKindNamesWhatExists(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "### Add a kind\n")
	section, _, _ = strings.Cut(section, "\n## ")
	all := named.FindAllStringSubmatch(section, -1)
	if !found || len(all) == 0 {
		t.Fatal("CONTRIBUTING.md has no section that adds a kind")
	}
	for _, name := range all {
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
