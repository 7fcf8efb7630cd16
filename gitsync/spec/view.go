package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// view shows a repository to kustomize, as a read-only file system with the
// repository at its root. It records what kustomize looks at.
type view struct {
	files  fs.FS
	limits Limits
	// checked are the folders whose kustomizations may be read: no other can bring in what nobody looked at.
	checked map[string]bool
	seen    map[string]string
	// origins are the documents that were read.
	origins []origin
	// problems of files that were read.
	problems []Error
}

func newView(files fs.FS, limits Limits, checked map[string]bool) *view {
	return &view{files: files, limits: limits, checked: checked, seen: map[string]string{}}
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
	v.seen[name] = stateOf(v.files, name)
	info, err := fs.Lstat(v.files, name)
	return name, info, err
}

// ReadFile implements filesys.FileSystem.
func (v *view) ReadFile(name string) ([]byte, error) {
	name, info, err := v.stat(name)
	switch {
	case err != nil:
		return nil, err
	case isOwn(name):
		return nil, v.fail(name, position{}, "the file is Sluice's own and is not read")
	case slices.Contains(kustomizationNames, path.Base(name)) && !v.checked[path.Dir(name)]:
		return nil, v.fail(name, position{}, "the file is one of a kustomization that none refers to, and is not read")
	case !info.Mode().IsRegular():
		return nil, v.fail(name, position{}, "a symbolic link or submodule is not followed")
	case info.Size() > v.limits.FileBytes:
		return nil, v.fail(name, position{}, tooLarge(info.Size(), v.limits.FileBytes).Error())
	}
	data, err := fs.ReadFile(v.files, name)
	if err != nil {
		return nil, v.fail(name, position{}, readProblem(err))
	}
	if isYAML(name) {
		err = v.inspect(name, data)
	}
	return data, err
}

func (v *view) fail(name string, at position, message string) error {
	problem := at.error(name, message)
	v.problems = append(v.problems, problem)
	return problem
}

// inspect checks a YAML file before kustomize sees it, and remembers its objects.
func (v *view) inspect(name string, data []byte) error {
	documents, problems := split(data, v.limits)
	for _, doc := range documents {
		content, found := doc.toJSON(v.limits)
		problems = append(problems, found...)
		if o := (origin{file: name, doc: doc}); json.Unmarshal(content, &o.header) == nil && o.header.Kind != "" {
			v.origins = append(v.origins, o)
		}
	}
	var first error
	for _, problem := range problems {
		if err := v.fail(name, problem.at, problem.message); first == nil {
			first = err
		}
	}
	return first
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
	file   string
	doc    document
	header header
}

func (o origin) find(path string) position {
	if o.doc.text == nil {
		return position{}
	}
	return o.doc.find(path)
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
