package spec

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/internal/kinds"
)

// workloads are all that the repository has, and which ones each kustomization has built.
type workloads struct {
	by    map[workloadKey][]located
	built map[string][]located
	jobs  map[objectKey][]located
}

// combine makes releases of the manifests of all files: it finds those that are
// given more than once, and templates that stand in another file. Of new releases it also returns
// the earlier ones (Result.Earlier).
func (p *pass) combine() (made []*Release, earlier map[*Release]*Release) {
	workloads, releases, given := p.sorted()
	earlier = map[*Release]*Release{}
	p.noteUnreleased(workloads)
	all := maps.Clone(releases)
	p.dropRepeated(releases, "BatchRelease")
	p.dropRivals(releases)
	p.loseDropped(all, releases)
	trains := p.board(releases)
	p.dropSharers(releases)
	p.weighJobs(releases, workloads.jobs)
	complete := map[objectKey]*Release{}
	for key, ls := range releases {
		if ls[0].train != nil {
			continue
		}
		if release := p.complete(ls[0], key.namespace, workloads); release != nil {
			made, complete[key] = append(made, release), release
			if before := p.earlier(release, ls[0]); before != nil {
				earlier[release] = before
			}
			delete(given, key)
		}
	}
	for _, train := range p.makeTrains(trains, releases, workloads.jobs, complete) {
		made = append(made, train)
		delete(given, objectKey{train.Namespace, train.Name})
	}
	for key, file := range given {
		p.doubts = append(p.doubts, Doubt{File: file, Names: []string{key.name}})
	}
	slices.SortFunc(made, func(a, b *Release) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
	})
	return made, earlier
}

// sorted returns the workloads and the releases of all files, and the file of each release.
func (p *pass) sorted() (found workloads, releases map[objectKey][]located, given map[objectKey]string) {
	found = workloads{by: map[workloadKey][]located{}, built: map[string][]located{}, jobs: map[objectKey][]located{}}
	releases, given = map[objectKey][]located{}, map[objectKey]string{}
	p.faultyTrains, p.lost = map[string]bool{}, map[string][]located{}
	for _, l := range p.manifests {
		key := objectKey{l.in(p.opts.Namespace), l.name}
		if l.isFaultyRelease() {
			p.lose(key.namespace, l)
			continue
		}
		if l.kind == releaseKind {
			given[key] = l.file
		}
		switch {
		case l.kind.isWorkload():
			workload := workloadKey{l.kind, key.namespace, key.name}
			found.by[workload] = append(found.by[workload], l)
			if l.kustomization != "" {
				found.built[l.kustomization] = append(found.built[l.kustomization], l)
			}
		case l.kind == jobKind:
			found.jobs[key] = append(found.jobs[key], l)
		case l.kind.isOther(): // whoever compares them with releases finds them in the result
		case !p.allowed(key.namespace):
			p.fail(l.file, l.at, fmt.Sprintf("BatchRelease %s is in namespace %s, but its source may only write to %s", l.name, key.namespace, p.namespaces()))
		default:
			releases[key] = append(releases[key], l)
		}
	}
	return found, releases, given
}

func (p *pass) allowed(namespace string) bool {
	return p.opts.AnyNamespace || namespace == p.opts.Namespace || slices.Contains(p.opts.AllowedNamespaces, namespace)
}

func (p *pass) namespaces() string {
	text := p.opts.Namespace
	for _, namespace := range p.opts.AllowedNamespaces {
		text += ", " + namespace
	}
	return text
}

// dropRepeated drops all objects that are given more than once: the intended one is unknown.
func (p *pass) dropRepeated(all map[objectKey][]located, kind string) {
	for key, ls := range all {
		if len(ls) < 2 {
			continue
		}
		name := fmt.Sprintf("%s %s/%s", kind, key.namespace, key.name)
		if first, second := apart(ls); first != "" {
			p.fail(ls[0].file, ls[0].at, builtTwice(name, first, second))
		} else {
			p.failEach(ls, name+" is also in")
		}
		delete(all, key)
	}
}

// apart names two kustomizations that built the same, such as two overlays of one base; empty if it
// does not come from two.
func apart(ls []located) (first, second string) {
	var from []string
	for _, l := range ls {
		from = append(from, l.kustomization)
	}
	slices.Sort(from)
	if from = slices.Compact(from); len(from) < 2 || from[0] == "" {
		return "", ""
	}
	return from[0], from[1]
}

func builtApart(ls []located) bool {
	first, _ := apart(ls)
	return first != ""
}

// builtTwice says that two kustomizations make the same object, and what to do.
func builtTwice(object, first, second string) string {
	return fmt.Sprintf("%s is built by %s and by %s: make a ReleaseSource for each, with spec.path %s and %s",
		object, first, second, path.Dir(first), path.Dir(second))
}

// dropRivals drops releases of the same workload: they would undo each other.
func (p *pass) dropRivals(releases map[objectKey][]located) {
	byWorkload := map[workloadKey][]located{}
	names := map[workloadKey][]objectKey{}
	for key, ls := range releases {
		if ls[0].train != nil {
			continue
		}
		workload := workloadOf(ls[0], key.namespace)
		byWorkload[workload] = append(byWorkload[workload], ls[0])
		names[workload] = append(names[workload], key)
	}
	for workload, ls := range byWorkload {
		if len(ls) == 1 {
			continue
		}
		p.failEach(ls, workload.String()+" is also released in")
		for _, key := range names[workload] {
			delete(releases, key)
		}
	}
}

// failEach reports each of several manifests with the place of another one.
func (p *pass) failEach(ls []located, message string) {
	slices.SortFunc(ls, func(a, b located) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.at.line, b.at.line))
	})
	for i, l := range ls {
		other := ls[0]
		if i == 0 {
			other = ls[1]
		}
		p.fail(l.file, l.at, message+" "+place(other.file, other.at.line))
	}
}

// workloadOf returns the workload of a release in a namespace.
func workloadOf(release located, namespace string) workloadKey {
	return workloadKey{release.workloadKind, namespace, release.workload}
}

// complete finds the workload of a release, and with it the template if the
// release has none.
func (p *pass) complete(l located, namespace string, all workloads) *Release {
	key := workloadOf(l, namespace)
	found := all.by[key]
	jobs, ok := p.findJobs(l, namespace, all.jobs)
	switch {
	case !p.answerable(l), !ok:
		return nil
	case len(found) > 1 && builtApart(found):
		first, second := apart(found)
		p.fail(l.file, l.at, builtTwice(key.String(), first, second))
		return nil
	case len(found) > 1:
		p.fail(l.file, l.at, fmt.Sprintf("%s is in %s and in %s", key, place(found[0].file, found[0].at.line), place(found[1].file, found[1].at.line)))
		return nil
	case len(found) == 0 && l.template == nil:
		p.fail(l.file, l.at, "spec.template is missing, and "+key.String()+", whose template it would be, is not in "+
			p.whereRead(cmp.Or(p.absent(l, key), p.parted(l, key, all))))
		return nil
	case len(found) == 0 || found[0].faulty && l.template != nil:
		if release := p.makeRelease(l, namespace, located{}, jobs); release != nil && p.checkVariables(release) {
			return release
		}
		return nil
	case found[0].faulty:
		return nil // what is wrong with it has been reported where it is
	case l.template == nil && found[0].template == nil:
		p.fail(found[0].file, found[0].at, key.String()+" has no spec.template, and its release has none either")
		return nil
	}
	release := p.makeRelease(l, namespace, found[0], jobs)
	if release == nil || !p.checkTogether(release) {
		return nil
	}
	return release
}

// parted names the workload that was probably meant by a release: one of the same name and another
// kind or, where a kustomization has built the release, one whose name it has made another; empty
// if there is none.
func (p *pass) parted(l located, key workloadKey, all workloads) string {
	for _, name := range kinds.Names() {
		of := kind(name)
		if ls := all.by[workloadKey{of, key.namespace, key.name}]; of != key.kind && len(ls) > 0 {
			return fmt.Sprintf("; the %s of that name in %s is another workload", of, place(ls[0].file, ls[0].at.line))
		}
	}
	kustomization := cmp.Or(l.kustomization, l.beside)
	if kustomization == "" {
		return ""
	}
	near := ""
	for _, other := range all.built[kustomization] {
		if other.kind != key.kind || !strings.Contains(other.name, key.name) && !strings.Contains(key.name, other.name) {
			continue
		}
		named := workloadKey{other.kind, other.in(p.opts.Namespace), other.name}.String() + " of " + place(other.file, other.at.line)
		if near == "" || named < near {
			near = named
		}
	}
	if near == "" {
		return " as " + kustomization + " builds it"
	}
	if l.beside != "" {
		return fmt.Sprintf(" as %s builds it, which has %s: a release that stands beside a kustomization names the workload as it is built",
			kustomization, near)
	}
	return fmt.Sprintf(" as %s builds it, which has %s: a namePrefix, nameSuffix or namespace must be set for both of them, in one kustomization",
		kustomization, near)
}
