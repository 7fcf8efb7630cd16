package spec

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/gitsync/chart"
)

// readBeside looks at the files in and below the folders of kustomizations, of which kustomize
// takes what they list and ignores the rest: a BatchRelease that is left out would not be released,
// or be deleted, without a word.
func (p *pass) readBeside(folders []string) error {
	taken := map[string]bool{}
	for folder, made := range p.now.builds {
		if made.broken {
			continue
		}
		for name, state := range made.seen {
			if made.helm != nil {
				taken[name] = takenByChart(folder, name, made.helm)
				continue
			}
			taken[name] = true
			if isYAML(name) && !isKustomization(name) && strings.HasPrefix(state, "file ") {
				p.readTaken(name)
			}
		}
	}
	beside := &beside{pass: p, taken: taken}
	for _, folder := range folders {
		if !taken[p.buildFile(folder)] {
			continue // it is a component, or what is wrong with it was reported
		}
		beside.folder = folder
		if err := fs.WalkDir(p.tree, folder, beside.visit(folder)); err != nil {
			return err
		}
	}
	return nil
}

func isKustomization(name string) bool { return slices.Contains(kustomizationNames, path.Base(name)) }

// readTaken notes the objects of a file that kustomize was not given. Their problems were reported.
func (p *pass) readTaken(name string) {
	info, err := fs.Lstat(p.tree, name)
	if err != nil {
		return
	}
	if content, err := p.parse(name, info); err == nil {
		p.noteHollow(name, content) // the build has the objects
	}
}

// beside looks for releases that no kustomization takes.
type beside struct {
	*pass
	taken map[string]bool
	// folder is the one of the kustomization, below which it looks.
	folder  string
	entries int
}

func (b *beside) visit(folder string) fs.WalkDirFunc {
	return func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if b.entries++; b.entries > b.opts.Limits.Entries {
			return fmt.Errorf("%w: there are more than %d files and folders below kustomizations", ErrLimit, b.opts.Limits.Entries)
		}
		if err := b.ignore.check(); err != nil {
			return err
		}
		switch {
		case name != folder && strings.HasPrefix(d.Name(), "."), d.IsDir() && isTooDeep(name, b.opts.Limits), b.ignored(name, d):
			return skip(d)
		case d.IsDir() && b.isComponent(name):
			return fs.SkipDir // of use to those who ask for it
		case d.Type().IsRegular() && isYAML(name) && !b.taken[name]:
			return b.look(name, d)
		}
		return nil
	}
}

// ignored reports whether a file or folder is ignored, and notes that if no kustomization takes the
// file all the same.
func (b *beside) ignored(name string, d fs.DirEntry) bool {
	switch {
	case d.IsDir() && b.ignore.skipsFolder(name):
		b.leftOut[name+"/"] = isIgnored
	case !d.IsDir() && b.ignore.ignores(name, false):
		if !b.taken[name] {
			b.leftOut[name] = isIgnored
		}
	default:
		return false
	}
	return true
}

// isComponent reports whether a folder is a component that no kustomization here takes.
func (b *beside) isComponent(folder string) bool {
	file := kustomizationFile(b.tree, folder)
	if file == folder || b.taken[file] {
		return false
	}
	info, err := fs.Lstat(b.tree, file)
	if err != nil {
		return false
	}
	content, err := b.parse(file, info)
	return err == nil && content.component
}

func (b *beside) look(name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	content, err := b.parse(name, info)
	if err != nil {
		return nil //nolint:nilerr // as before: nobody asked for the file
	}
	if _, built := b.roots[b.folder]; built && path.Dir(name) == b.folder {
		b.takeReleases(name, content)
		return nil
	}
	for _, release := range content.named {
		b.doubts = append(b.doubts, Doubt{File: name, Names: []string{release.name}, Affixes: true})
		if !release.doubtful {
			b.fail(name, release.at, fmt.Sprintf("BatchRelease %s is not released: ", release.name)+b.notTaken())
		}
	}
	return nil
}

// notTaken says why a file of the folder is not taken.
func (b *beside) notTaken() string {
	file := b.buildFile(b.folder)
	if b.helm(b.folder) != nil {
		return fmt.Sprintf("no template of %s makes it: move it into the folder of %s, or into templates", file, chart.File)
	}
	return fmt.Sprintf("neither %s nor a kustomization that it refers to takes this file: move it into the folder of the "+
		"kustomization that is applied, or add it to resources", file)
}

// takeReleases adds the releases of a file beside a kustomization or chart that is built. They are
// outside the build of Argo CD and Flux; their workloads come from the kustomization.
func (b *beside) takeReleases(name string, content *parsed) {
	kustomization := b.buildFile(b.folder)
	if len(content.named) == 0 {
		return
	}
	for _, problem := range content.problems {
		b.fail(name, problem.at, problem.message)
	}
	if len(content.problems) > 0 {
		b.doubts = append(b.doubts, Doubt{File: name, Names: content.names()})
	}
	for _, m := range content.manifests {
		if m.kind == releaseKind {
			b.manifests = append(b.manifests, located{manifest: m, file: name, at: m.at, beside: kustomization, near: b.roots[b.folder]})
		}
	}
}
