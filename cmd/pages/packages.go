package main

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

const packagesHead = `<!-- Written by make generate from the package comments: change those. -->
# Packages

What each Go package does. [Architecture](architecture.md#rooms) says which of them may use which.
`

// rooms are the sections of the page: the folders below which a package lies, in the order of the
// page.
var rooms = []struct{ folder, title string }{
	{"gitsync", "gitsync: from Git to BatchReleases"},
	{"rollout", "rollout: from BatchReleases to pods"},
	{"approvals", "approvals: from Gates to the forge and back"},
	{"forge", "forge: what gitsync and approvals use"},
	{"cli", "cli: what only the command line uses"},
	{"cmd", "cmd: programs"},
	{"api", "api: the CRDs"},
	{"internal", "internal: below the parts"},
}

// packagesPage lists the packages of the product, each with the first sentence of its comment. A
// package without one is an error.
func packagesPage(root string) (string, error) {
	var page strings.Builder
	page.WriteString(packagesHead)
	for _, room := range rooms {
		fmt.Fprintf(&page, "\n## %s\n\n| package | what it does |\n|---|---|\n", room.title)
		err := filepath.WalkDir(filepath.Join(root, room.folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			row, err := packageRow(root, path)
			page.WriteString(row)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("list the packages of %s: %w", room.folder, err)
		}
	}
	return page.String(), nil
}

// packageRow returns an empty row for a folder without Go code that is built.
func packageRow(root, folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	name, err := filepath.Rel(root, folder)
	if err != nil {
		return "", err
	}
	builds, text := false, ""
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return "", fmt.Errorf("read a package: %w", err)
		}
		builds = true
		if parsed.Doc != nil {
			text, _, _ = strings.Cut(parsed.Doc.Text(), "\n\n")
		}
	}
	if !builds {
		return "", nil
	}
	_, text, found := strings.Cut(new(doc.Package).Synopsis(text), " ")
	_, text, both := strings.Cut(text, " ")
	if !found || !both {
		return "", fmt.Errorf("package %s has no comment that says what it does", name)
	}
	return fmt.Sprintf("| `%s` | %s |\n", filepath.ToSlash(name), strings.TrimRight(text, ".:")), nil
}
