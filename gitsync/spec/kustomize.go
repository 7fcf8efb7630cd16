package spec

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// build is what a kustomization came to, and all that it depends on.
type build struct {
	// seen are the files and folders that were looked at, and how they were.
	seen      map[string]string
	manifests []located
	// failed: something of it is wrong, and it is built again each time, to report it again.
	failed bool
}

// readKustomizations builds all kustomizations that no other one refers to: a base
// is not released on its own.
func (p *pass) readKustomizations(folders []string) {
	referred := map[string]bool{}
	checked := map[string]map[string]bool{}
	for _, folder := range folders {
		check := &referenceCheck{files: p.tree, limits: p.opts.Limits, visited: map[string]bool{}}
		check.visit(folder)
		p.errors = append(p.errors, check.errors...)
		if len(check.errors) == 0 && !check.component {
			checked[folder] = check.visited
		}
		for visited := range check.visited {
			referred[visited] = referred[visited] || visited != folder
		}
	}
	for _, folder := range folders {
		if visited := checked[folder]; visited != nil && !referred[folder] {
			p.readKustomization(folder, visited)
		}
	}
}

// readKustomization builds what is in a folder, of nothing but the kustomizations that were checked.
func (p *pass) readKustomization(folder string, checked map[string]bool) {
	made := p.before.builds[folder]
	if made == nil || made.failed || !p.same(made.seen) {
		if made = p.build(folder, checked); made == nil {
			return
		}
	}
	p.now.builds[folder] = made
	p.manifests = append(p.manifests, made.manifests...)
}

// same tells whether all that was seen is as it was.
func (p *pass) same(seen map[string]string) bool {
	for name, state := range seen {
		if stateOf(p.tree, name) != state {
			return false
		}
	}
	return true
}

// stateOf tells contents and kinds of files apart.
func stateOf(files fs.FS, name string) string {
	info, err := fs.Lstat(files, name)
	switch {
	case err != nil:
		return "absent"
	case info.IsDir():
		return "folder"
	case !info.Mode().IsRegular():
		return "irregular"
	}
	if hash := hashOf(info); hash != "" {
		return "file " + hash
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return "unreadable"
	}
	return "file " + digest(data)
}

// build builds a kustomization; nil if there are errors.
func (p *pass) build(folder string, checked map[string]bool) *build {
	view := newView(p.tree, p.opts.Limits, checked)
	file := kustomizationFile(p.tree, folder)
	objects, err := kustomize(view, folder)
	if err != nil {
		p.failBuild(file, view, err)
		return nil
	}
	made := &build{}
	for _, object := range objects.Resources() {
		data, err := object.MarshalJSON()
		if err != nil {
			p.fail(file, position{}, fmt.Sprintf("read what kustomize built: %v", err))
			return nil
		}
		made.failed = p.take(made, view, file, data) || made.failed
	}
	made.seen = view.seen
	return made
}

// take adds what kustomize built of one object, and reports whether it is wrong.
func (p *pass) take(made *build, view *view, file string, data []byte) bool {
	m, problems := parseObject(data)
	origin := view.originOf(data)
	if origin.file == "" {
		origin.file = file
	}
	for _, problem := range problems {
		p.fail(origin.file, origin.find(problem.path), problem.message)
	}
	if m != nil {
		made.manifests = append(made.manifests, located{m, origin.file, origin.find("apiVersion"), file})
	}
	return len(problems) > 0
}

// failBuild reports why kustomize failed, at the file that is to blame if it can be told.
func (p *pass) failBuild(file string, view *view, err error) {
	p.errors = append(p.errors, view.problems...)
	if len(view.problems) == 0 {
		p.fail(file, position{}, "kustomize: "+shorten(err.Error()))
	}
}

// maxMessage keeps a message of kustomize, which quotes whole chains of errors, readable.
const maxMessage = 500

func shorten(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}

// kustomizeOnce: kustomize keeps its OpenAPI schema in variables of the package.
var kustomizeOnce sync.Mutex

// kustomize runs kustomize, with nothing to read but the view.
func kustomize(view *view, folder string) (objects resmap.ResMap, err error) {
	kustomizeOnce.Lock()
	defer kustomizeOnce.Unlock()
	defer func() {
		if reason := recover(); reason != nil { // a repository must not end the controller
			err = fmt.Errorf("it can't cope with this kustomization: %v", reason)
		}
	}()
	return krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(view, path.Join("/", folder))
}

// kustomizationFile is the file of a kustomization's folder.
func kustomizationFile(files fs.FS, folder string) string {
	i := slices.IndexFunc(kustomizationNames, func(name string) bool {
		info, err := fs.Lstat(files, path.Join(folder, name))
		return err == nil && info.Mode().IsRegular()
	})
	if i < 0 {
		return folder
	}
	return path.Join(folder, kustomizationNames[i])
}

var _ filesys.FileSystem = (*view)(nil)
