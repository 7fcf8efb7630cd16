package spec

import (
	"fmt"
	"io/fs"

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
	return find(files, object, path).error(object.File, message)
}

func find(files fs.FS, object Place, path string) position {
	data, err := fs.ReadFile(files, object.File)
	if err != nil || object.Line == 0 {
		return position{}
	}
	documents, _ := split(data, Limits{}.withDefaults())
	found := lineStart(object.Line)
	for _, doc := range documents {
		if doc.line <= object.Line {
			found = doc.find(doc.itemAt(object.Line) + path)
		}
	}
	return found
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
	for i, item := range items.Content {
		if key, _ := child(item, "apiVersion"); key != nil && d.fileLine(key.Line) == line {
			return fmt.Sprintf("items[%d].", i)
		}
	}
	return ""
}
