package spec

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/chart"
)

// build is the result of a kustomization or chart, and all that it depends on.
type build struct {
	// seen are the files and folders that it may read, and how they were.
	seen map[string]string
	// helm is the release that a chart was rendered for; nil for a kustomization.
	helm      *v1alpha1.HelmChart
	manifests []located
	errors    []Error
	// generated are the ConfigMaps and Secrets that no file has.
	generated []header
	// refused are the releases that it has, and that are wrong.
	refused []string
	others  []otherObject
	// broken: there is no result.
	broken bool
}

// readKustomizations builds all kustomizations that no other one refers to: a base
// is not released on its own.
func (p *pass) readKustomizations(folders []string) error {
	referred, mentioned := map[string]bool{}, map[string]bool{}
	good := map[string]*referenceCheck{}
	visits, known := 0, kustomizations{}
	for _, folder := range folders {
		check := newReferenceCheck(p.tree, p.opts.Limits, known)
		check.visit(folder)
		p.errors = append(p.errors, check.errors...)
		if len(check.errors) > 0 {
			p.doubtBuild(folder, check)
			p.mentions(folder, mentioned)
		}
		if len(check.errors) == 0 && !check.component {
			good[folder] = check
		}
		for visited := range check.visited {
			referred[visited] = referred[visited] || visited != folder
		}
		if visits += check.visits; visits > p.opts.Limits.Entries {
			return fmt.Errorf("%w: the kustomizations refer to each other more than %d times", ErrLimit, p.opts.Limits.Entries)
		}
	}
	for _, folder := range folders {
		check := good[folder]
		switch {
		case check == nil, referred[folder]:
		case mentioned[folder]:
			p.doubtBuild(folder, check)
			p.notices = append(p.notices, Error{File: kustomizationFile(p.tree, folder), Message: "the kustomization is not built on its own: " +
				"another one that has errors names its folder"})
		default:
			if err := p.readBuild(folder, check); err != nil {
				return err
			}
		}
	}
	return nil
}

// upward matches a path that leads out of its folder.
var upward = regexp.MustCompile("[^\\s\"'`,\\[\\]{}]*\\.\\.[^\\s\"'`,\\[\\]{}]*")

// mentions notes the folders that a kustomization with errors names, or one below it. Any may be
// its base, and a base on its own has other templates than its overlay makes of them.
func (p *pass) mentions(folder string, found map[string]bool) {
	entries := 0
	_ = fs.WalkDir(p.tree, folder, func(name string, d fs.DirEntry, err error) error {
		if entries++; err != nil || entries > p.opts.Limits.Entries {
			return fs.SkipAll
		}
		if !isKustomization(name) || !d.Type().IsRegular() {
			return nil
		}
		data, _ := readInput(p.tree, name, p.opts.Limits) // what can't be read names nothing
		for _, up := range upward.FindAll(data, maxWords) {
			found[path.Join(path.Dir(name), string(up))] = true
		}
		return nil
	})
}

// failPending says how much is left for the next Read, which is nothing that is wrong with a file.
func (p *pass) failPending(folder string) {
	if p.unbuilt > 0 {
		p.fail(folder, position{}, fmt.Sprintf(
			"%d kustomizations are not built yet: building all of them takes more processor time than --build-total-timeout", p.unbuilt))
	}
	if p.unread > 0 {
		p.fail(folder, position{}, fmt.Sprintf(
			"%d files are not read yet: all that are new have more than %d values together", p.unread, p.opts.Limits.TotalValues))
	}
}

// helm returns the release that the chart of a folder is rendered for; nil if it is no chart.
func (p *pass) helm(folder string) *v1alpha1.HelmChart {
	if p.chart != "" && p.chart == folder {
		return p.opts.Helm
	}
	return nil
}

// buildFile returns the file that makes a folder a kustomization or chart.
func (p *pass) buildFile(folder string) string {
	if p.helm(folder) != nil {
		return path.Join(folder, chart.File)
	}
	return kustomizationFile(p.tree, folder)
}

// readBuild builds a kustomization or chart of nothing but the files that were checked, unless it
// did so before.
func (p *pass) readBuild(folder string, check *referenceCheck) error {
	seen := map[string]string{}
	for name := range check.inputs {
		seen[name] = stateOf(p.tree, name)
	}
	made, file, helm := p.before.builds[folder], p.buildFile(folder), p.helm(folder)
	if made == nil || !maps.Equal(made.seen, seen) || !reflect.DeepEqual(made.helm, helm) {
		made = &build{seen: seen, helm: helm}
		if exceeded, err := p.build(made, folder, file, slices.Sorted(maps.Keys(seen))); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrNotBuilt, file, err)
		} else if exceeded {
			made.seen = nil // another time it may be quicker
			p.exceeded = true
		}
	}
	p.now.builds[folder] = made
	if made.broken {
		p.doubtBuild(folder, check)
	} else {
		p.roots[folder] = check.namespace
	}
	if len(made.refused) > 0 {
		p.doubts = append(p.doubts, Doubt{File: file, Names: made.refused})
	}
	p.otherObjects = append(p.otherObjects, made.others...)
	p.manifests = append(p.manifests, made.manifests...)
	p.errors = append(p.errors, made.errors...)
	return nil
}

// stateOf tells contents and kinds of files apart.
func stateOf(files fs.FS, name string) string {
	info, err := lstat(files, name)
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

// build builds a kustomization, and reports whether that took more than it may.
func (p *pass) build(made *build, folder, file string, names []string) (exceeded bool, err error) {
	input, err := p.collect(made, folder, file, names)
	if err != nil || made.errors != nil {
		made.broken = true
		return false, err
	}
	if p.opts.Builder == nil {
		return false, errors.New("this program can't build kustomizations and charts")
	}
	output, err := p.opts.Builder.Build(input)
	if limit, ok := errors.AsType[interface {
		error
		Exceeds() string
		NotBegun() bool
	}](err); ok {
		made.broken = true
		if limit.NotBegun() {
			p.unbuilt++
			return true, nil
		}
		made.fail(file, "building the "+made.is()+" takes more than "+limit.Exceeds()+
			": make it several, refer to fewer objects, or raise the limit")
		return true, nil
	}
	if err != nil {
		return false, err
	}
	var out buildOutput
	if err := json.Unmarshal(output, &out); err != nil {
		return false, fmt.Errorf("read what was built: %w", err)
	}
	p.takeAll(made, file, out)
	return false, nil
}

// collect makes the input of a build. An unreadable file is an error of the result.
func (p *pass) collect(made *build, folder, file string, names []string) ([]byte, error) {
	files, total := bundle{}, int64(0)
	for _, name := range names {
		info, err := lstat(p.tree, name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		data, err := fs.ReadFile(p.tree, name)
		if err != nil {
			made.fail(name, readProblem(err))
			continue
		}
		files[name] = data
		if total += int64(len(data)); total > p.opts.Limits.BuildBytes {
			made.fail(file, fmt.Sprintf("the files of the %s are larger than %d bytes together: make it several", made.is(), p.opts.Limits.BuildBytes))
			return nil, nil
		}
	}
	return json.Marshal(buildInput{Folder: folder, Files: files, Limits: p.opts.Limits, Helm: made.helm, Namespace: p.opts.Namespace})
}

// is returns the word for what was built.
func (b *build) is() string {
	if b.helm != nil {
		return "chart"
	}
	return "kustomization"
}

// failBuild says why kustomize fails.
func (b *build) failBuild(file string, out buildOutput) {
	if out.ReleaseFile != "" {
		b.fail(out.ReleaseFile, fmt.Sprintf("%s can't be built with the BatchRelease among its resources, and can be without it: take this file out of "+
			"resources. Sluice finds it in the folder of the kustomization. kustomize: %s", file, out.Failure))
		return
	}
	b.fail(file, "kustomize: "+out.Failure)
}

func (b *build) fail(file, message string) {
	b.errors = append(b.errors, position{}.error(file, message))
}

// takeAll takes the result of a build: its objects, if all of them are right.
func (p *pass) takeAll(made *build, file string, out buildOutput) {
	if made.errors = out.Problems; out.Failure != "" {
		made.failBuild(file, out)
	}
	made.broken = made.errors != nil
	for _, object := range out.Objects {
		p.take(made, file, object)
	}
	for _, l := range made.manifests {
		l.generated = generatedFor(l.manifest, made.generated)
	}
}

// take adds what kustomize built of one object.
func (p *pass) take(made *build, file string, built builtObject) {
	m, problems := parseObject(built.Object)
	made.noteGenerated(built)
	if m == nil && problems == nil {
		made.noteOther(built, file)
		return
	}
	if m == nil || m.isFaultyRelease() {
		made.noteRefused(built)
	}
	origin := Place{File: built.File, Line: built.Line}
	if origin.File == "" {
		origin = Place{File: file}
	}
	for _, problem := range problems {
		if len(made.errors) >= maxProblems {
			return // whoever has so many will look again after these
		}
		made.errors = append(made.errors, p.find(origin, problem.path).error(origin.File, problem.message))
	}
	if m != nil && m.kind == statefulSetKind {
		m.claims = p.find(origin, claimsPath)
	}
	if m != nil && len(m.routes) > 0 {
		m.sharing = p.find(origin, routesPath)
	}
	if m != nil && m.kind == releaseKind {
		find := func(at string) position { return p.find(origin, at) }
		m.locateSteps(find)
		m.placeConfig(find)
	}
	if m != nil {
		made.manifests = append(made.manifests, located{manifest: m, file: origin.File, at: position{built.Line, built.Column}, kustomization: file})
	}
}

// noteOther takes note of an object that says how workloads come to be.
func (b *build) noteOther(built builtObject, kustomization string) {
	object, _ := decode(built.Object).(map[string]any)
	if other := otherOf(object); other != nil {
		other.file, other.at = cmp.Or(built.File, kustomization), position{built.Line, built.Column}
		b.others = append(b.others, *other)
	}
}

// noteRefused takes note of a release that is wrong.
func (b *build) noteRefused(built builtObject) {
	var object header
	if json.Unmarshal(built.Object, &object) == nil {
		b.refused = append(b.refused, object.Metadata.Name)
	}
}

// kustomizationFile returns the file of a kustomization's folder.
func kustomizationFile(files fs.FS, folder string) string {
	i := slices.IndexFunc(kustomizationNames, func(name string) bool {
		info, err := lstat(files, path.Join(folder, name))
		return err == nil && info.Mode().IsRegular()
	})
	if i < 0 {
		return folder
	}
	return path.Join(folder, kustomizationNames[i])
}
