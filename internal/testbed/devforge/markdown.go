package devforge

import (
	"bytes"
	"html/template"
	"regexp"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown returns a text of a pull request or a comment as GitHub shows it: tables are tables, a
// line ends where it ends, and a commit links its page. HTML in the text is left out, and so are
// links that are not safe.
func (c *call) markdown(source string) (template.HTML, error) {
	commits := &commitLinks{path: c.commitPath()}
	render := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(commits, 0))),
		goldmark.WithRendererOptions(html.WithHardWraps()),
	)
	var page bytes.Buffer
	if err := render.Convert([]byte(source), &page); err != nil {
		return "", err
	}
	return template.HTML(page.String()), nil //nolint:gosec // goldmark escapes text, and leaves HTML out unless it is told not to
}

// commitPath returns where the pages of commits are, before the name of one.
func (c *call) commitPath() string { return "/" + c.repo.fullName() + "/commit/" }

// commitLinks makes a link of each full name of a commit in the text.
type commitLinks struct{ path string }

var commitName = regexp.MustCompile(`\b[0-9a-f]{40}\b`)

// Transform changes a parsed text. Code and links stay as they are.
func (l *commitLinks) Transform(document *ast.Document, reader text.Reader, _ parser.Context) {
	var plainTexts []*ast.Text
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		switch node := node.(type) {
		case *ast.CodeSpan, *ast.Link, *ast.AutoLink, *ast.Image:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if entering {
				plainTexts = append(plainTexts, node)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, one := range plainTexts {
		l.link(one, reader.Source())
	}
}

// link splits a text where it names a commit.
func (l *commitLinks) link(one *ast.Text, source []byte) {
	for {
		found := commitName.FindIndex(one.Segment.Value(source))
		if found == nil {
			return
		}
		segment, parent := one.Segment, one.Parent()
		before := ast.NewTextSegment(segment.WithStop(segment.Start + found[0]))
		name := ast.NewTextSegment(text.NewSegment(segment.Start+found[0], segment.Start+found[1]))
		link := ast.NewLink()
		link.Destination = append([]byte(l.path), name.Segment.Value(source)...)
		link.AppendChild(link, name)
		parent.InsertBefore(parent, one, before)
		parent.InsertBefore(parent, one, link)
		one.Segment = segment.WithStart(segment.Start + found[1])
	}
}
