package spec

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Place is the place of an object: a file, from the root of the repository, and the first line of
// the object, 0 if unknown.
type Place struct {
	File string
	Line int
}

// Find returns an error about a field of the object at a place, such as spec.strategy.steps[1],
// with the line and column of the field or of the deepest part of its path that is there.
func Find(files fs.FS, object Place, path, message string) Error {
	return (&places{files: files}).find(object, path).error(object.File, message)
}

// places finds fields in the files of a repository. It keeps the documents of the last file, and
// the syntax tree of the last document: a repository can have any number of errors at one place.
type places struct {
	files     fs.FS
	file      string
	documents []document
	tree      *syntaxTree
}

func (p *places) find(object Place, path string) position {
	if object.Line == 0 {
		return position{}
	}
	if p.file != object.File || p.documents == nil {
		data, err := fs.ReadFile(p.files, object.File)
		if err != nil {
			return position{}
		}
		p.file, p.tree = object.File, nil
		p.documents, _ = split(data, Limits{}.withDefaults())
	}
	i, exact := slices.BinarySearchFunc(p.documents, object.Line, func(d document, line int) int { return cmp.Compare(d.line, line) })
	if !exact {
		i--
	}
	if i < 0 {
		return lineStart(object.Line)
	}
	doc := p.documents[i]
	if p.tree != doc.tree && p.tree != nil {
		*p.tree = syntaxTree{}
	}
	p.tree = doc.tree
	return doc.find(doc.itemAt(object.Line) + path)
}

// find returns the place of a field of an object.
func (p *pass) find(object Place, path string) position {
	if p.places == nil {
		p.places = &places{files: p.tree}
	}
	return p.places.find(object, path)
}

// itemAt returns the path of the item of a list that starts on a line of the file, with a dot at
// the end; empty if there is none.
func (d document) itemAt(line int) string {
	root := d.node()
	if root == nil {
		return ""
	}
	_, items := child(root, "items")
	if items == nil || items.Kind != yaml.SequenceNode {
		return ""
	}
	last := d.lastLine()
	for i, item := range items.Content {
		if key, _ := child(item, "apiVersion"); key != nil && d.line+max(0, min(key.Line-1, last)) == line {
			return fmt.Sprintf("items[%d].", i)
		}
	}
	return ""
}
