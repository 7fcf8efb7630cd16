package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// view shows a repository to kustomize, as a read-only file system with the
// repository at its root.
type view struct {
	files  fs.FS
	limits Limits
	// check has the folders whose kustomizations may be read: no other can bring in what nobody looked
	// at.
	check *referenceCheck
	// origins are the documents that objects are built from.
	origins []origin
	// problems of files that were read.
	problems []Error
}

func newView(files fs.FS, limits Limits, check *referenceCheck) *view {
	return &view{files: files, limits: limits, check: check}
}

var errReadOnly = errors.New("the repository can't be written to")

// inside turns kustomize's absolute path into one of the repository.
func inside(name string) string {
	if clean := strings.TrimPrefix(path.Clean("/"+name), "/"); clean != "" {
		return clean
	}
	return "."
}

func (v *view) stat(name string) (string, fs.FileInfo, error) {
	name = inside(name)
	info, err := lstat(v.files, name)
	return name, info, err
}

// ReadFile implements filesys.FileSystem.
func (v *view) ReadFile(name string) ([]byte, error) {
	name, _, err := v.stat(name)
	if err != nil {
		return nil, err
	}
	if slices.Contains(kustomizationNames, path.Base(name)) && !v.check.visited[path.Dir(name)] {
		return nil, v.fail(name, position{}, "the file belongs to a kustomization that nothing refers to, and is not read")
	}
	data, problem := readInput(v.files, name, v.limits)
	if problem != nil {
		v.problems = append(v.problems, *problem)
		return nil, problem
	}
	return data, nil
}

func (v *view) fail(name string, at position, message string) error {
	problem := at.error(name, message)
	v.problems = append(v.problems, problem)
	return problem
}

// inspectAll checks all that kustomize will parse before it sees it, and remembers its objects.
func (v *view) inspectAll(folder string) []Error {
	objects := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(v.check.manifests)) {
		if info, err := lstat(v.files, name); err != nil || !info.Mode().IsRegular() {
			continue // kustomize will say what is missing
		}
		if data, problem := readInput(v.files, name, v.limits); problem != nil {
			v.problems = append(v.problems, *problem)
		} else {
			objects[name] = v.inspect(name, data)
		}
	}
	if v.check.made(folder, objects, map[string]int{}) > v.limits.Objects {
		v.problems = append(v.problems, tooManyObjects(kustomizationFile(v.files, folder), v.limits))
	}
	return v.problems
}

// inspect checks a file of YAML, remembers its objects, and counts them.
func (v *view) inspect(name string, data []byte) int {
	documents, problems := split(data, v.limits)
	count := 0
	for _, doc := range documents {
		content, found := doc.toJSON(v.limits)
		problems = append(problems, found...)
		o := origin{file: name, doc: document{text: doc.text, line: doc.line}} // the tree is not kept: there may be many
		if json.Unmarshal(content, &o.header) == nil && o.header.Kind != "" {
			v.origins = append(v.origins, o)
			v.origins = append(v.origins, o.items()...)
		}
		count += max(1, len(o.header.Items))
	}
	for _, problem := range problems {
		_ = v.fail(name, problem.at, problem.message)
	}
	return count
}

// CleanedAbs implements filesys.FileSystem.
func (v *view) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	name, info, err := v.stat(name)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("%q is not in the repository", name)
	case info.IsDir():
		return filesys.ConfirmedDir(path.Join("/", name)), "", nil
	case !info.Mode().IsRegular():
		return "", "", v.fail(name, position{}, "a symbolic link or submodule is not followed")
	}
	return filesys.ConfirmedDir(path.Join("/", path.Dir(name))), path.Base(name), nil
}

// IsDir implements filesys.FileSystem.
func (v *view) IsDir(name string) bool {
	_, info, err := v.stat(name)
	return err == nil && info.IsDir()
}

// Exists implements filesys.FileSystem.
func (v *view) Exists(name string) bool {
	_, _, err := v.stat(name)
	return err == nil
}

// ReadDir implements filesys.FileSystem.
func (v *view) ReadDir(string) ([]string, error) { return nil, errors.ErrUnsupported }

// Glob implements filesys.FileSystem.
func (v *view) Glob(string) ([]string, error) { return nil, errors.ErrUnsupported }

// Walk implements filesys.FileSystem.
func (v *view) Walk(string, filepath.WalkFunc) error { return errors.ErrUnsupported }

// Open implements filesys.FileSystem.
func (v *view) Open(string) (filesys.File, error) { return nil, errors.ErrUnsupported }

// Create implements filesys.FileSystem.
func (v *view) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir implements filesys.FileSystem.
func (v *view) Mkdir(string) error { return errReadOnly }

// MkdirAll implements filesys.FileSystem.
func (v *view) MkdirAll(string) error { return errReadOnly }

// RemoveAll implements filesys.FileSystem.
func (v *view) RemoveAll(string) error { return errReadOnly }

// WriteFile implements filesys.FileSystem.
func (v *view) WriteFile(string, []byte) error { return errReadOnly }

// origin is a document that something was built from.
type origin struct {
	file string
	doc  document
	// inside is the path of an item of a list, with a dot at the end.
	inside string
	header struct {
		header
		// Items of a list.
		Items []json.RawMessage `json:"items"`
	}
}

func (o origin) find(path string) position {
	if o.doc.text == nil {
		return position{}
	}
	return o.doc.find(o.inside + path)
}

// items returns the objects of a list, which kustomize takes apart.
func (o origin) items() []origin {
	var all []origin
	for i, item := range o.header.Items {
		one := origin{file: o.file, doc: o.doc, inside: fmt.Sprintf("items[%d].", i)}
		if json.Unmarshal(item, &one.header) == nil {
			all = append(all, one)
		}
	}
	return all
}

// originOf finds the document that an object was built from: the first of its kind
// whose name the object's name holds, since kustomize adds prefixes and suffixes.
func (v *view) originOf(object []byte) origin {
	var built header
	if json.Unmarshal(object, &built) != nil {
		return origin{}
	}
	for _, same := range []func(name string) bool{
		func(name string) bool { return name == built.Metadata.Name },
		func(name string) bool { return strings.Contains(built.Metadata.Name, name) },
	} {
		for _, o := range v.origins {
			if o.header.Kind == built.Kind && o.header.Metadata.Name != "" && same(o.header.Metadata.Name) {
				return o
			}
		}
	}
	return origin{}
}
