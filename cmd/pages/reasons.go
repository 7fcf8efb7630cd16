package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

const reasonsHead = `<!-- Written by make generate from the comments in api/v1alpha1/reasons.go: change those. -->
# Conditions and reasons

The conditions of BatchReleases and ReleaseSources, and the reasons in them and in ` + "`status.reason`" + `: what each
means, and what to do.
`

// reasonsPage lists the constants of a file, a table for each block of them. A comment says what
// its constant means and, after "Action:", what to do.
func reasonsPage(name string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		return "", fmt.Errorf("read the reasons: %w", err)
	}
	var page strings.Builder
	page.WriteString(reasonsHead)
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		title, text, _ := strings.Cut(oneLine(block.Doc), ". ")
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| name | meaning | action |\n|---|---|---|\n", title, text)
		for _, spec := range block.Specs {
			row, err := reasonRow(spec.(*ast.ValueSpec))
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			page.WriteString(row)
		}
	}
	return page.String(), nil
}

func reasonRow(spec *ast.ValueSpec) (string, error) {
	constant := spec.Names[0].Name
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok {
		return "", fmt.Errorf("the value of %s is no string", constant)
	}
	name, err := strconv.Unquote(literal.Value)
	if err != nil {
		return "", fmt.Errorf("read the value of %s: %w", constant, err)
	}
	meaning, ofIt := strings.CutPrefix(oneLine(spec.Doc), constant+": ")
	meaning, action, both := strings.Cut(meaning, " Action: ")
	if !ofIt || !both {
		return "", fmt.Errorf("the comment of %s must read \"%s: what it means. Action: what to do.\"", constant, constant)
	}
	return fmt.Sprintf("| `%s` | %s | %s |\n", name, sentence(meaning), sentence(action)), nil
}

func oneLine(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}

var page = regexp.MustCompile(`docs/([a-z/-]+)\.md(#[a-z-]+)?`)

// sentence begins with a capital letter, and has pages as links.
func sentence(text string) string {
	text = page.ReplaceAllStringFunc(text, func(name string) string {
		file, anchor, _ := strings.Cut(strings.TrimPrefix(name, "docs/"), "#")
		words := anchor
		if words == "" {
			words = path.Base(strings.TrimSuffix(file, ".md"))
		}
		return "[" + strings.ReplaceAll(words, "-", " ") + "](" + strings.TrimPrefix(name, "docs/") + ")"
	})
	return strings.ToUpper(text[:1]) + text[1:]
}
