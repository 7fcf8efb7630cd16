package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// objectKey names an object of one kind.
type objectKey struct{ namespace, name string }

// combine makes releases of the manifests of all files: it finds those that are
// given more than once, and templates that stand in another file.
func (p *pass) combine() []*Release {
	deployments := map[objectKey][]located{}
	releases := map[objectKey][]located{}
	for _, l := range p.manifests {
		key := objectKey{cmp.Or(l.namespace, p.opts.Namespace), l.name}
		switch {
		case l.kind == deploymentKind:
			deployments[key] = append(deployments[key], l)
		case !p.allowed(key.namespace):
			p.fail(l.file, l.at, fmt.Sprintf("BatchRelease %s is in namespace %s, but its source may only write to %s", l.name, key.namespace, p.namespaces()))
		default:
			releases[key] = append(releases[key], l)
		}
	}
	p.dropRepeated(releases, "BatchRelease")
	p.dropRivals(releases)
	var made []*Release
	for key, ls := range releases {
		if release := p.complete(ls[0], key.namespace, deployments); release != nil {
			made = append(made, release)
		}
	}
	slices.SortFunc(made, func(a, b *Release) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name))
	})
	return made
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

// dropRepeated drops what is given more than once: nobody can tell which one is meant.
func (p *pass) dropRepeated(all map[objectKey][]located, kind string) {
	for key, ls := range all {
		if len(ls) > 1 {
			p.failEach(ls, fmt.Sprintf("%s %s/%s is also in", kind, key.namespace, key.name))
			delete(all, key)
		}
	}
}

// dropRivals drops releases of the same workload: they would undo each other.
func (p *pass) dropRivals(releases map[objectKey][]located) {
	byWorkload := map[objectKey][]located{}
	names := map[objectKey][]objectKey{}
	for key, ls := range releases {
		workload := objectKey{key.namespace, ls[0].workload}
		byWorkload[workload] = append(byWorkload[workload], ls[0])
		names[workload] = append(names[workload], key)
	}
	for workload, ls := range byWorkload {
		if len(ls) == 1 {
			continue
		}
		p.failEach(ls, fmt.Sprintf("Deployment %s/%s is also released in", workload.namespace, workload.name))
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

// complete finds the Deployment of a release, and with it the template if the
// release has none.
func (p *pass) complete(l located, namespace string, deployments map[objectKey][]located) *Release {
	found := deployments[objectKey{namespace, l.workload}]
	name := "Deployment " + namespace + "/" + l.workload
	switch {
	case len(found) > 1:
		p.fail(l.file, l.at, fmt.Sprintf("%s is in %s and in %s", name, place(found[0].file, found[0].at.line), place(found[1].file, found[1].at.line)))
		return nil
	case len(found) == 0 && l.template == nil:
		p.fail(l.file, l.at, "spec.template is missing, and "+name+", whose template it would be, is not in the repository"+
			parted(l, deployments))
		return nil
	case len(found) == 0 || found[0].faulty && l.template != nil:
		return p.makeRelease(l, namespace, located{})
	case found[0].faulty:
		return nil // what is wrong with it has been reported where it is
	case l.template == nil && found[0].template == nil:
		p.fail(found[0].file, found[0].at, name+" has no spec.template, and its release has none either")
		return nil
	}
	return p.makeRelease(l, namespace, found[0])
}

// parted names the Deployment that was probably meant by a release that a kustomization has built; empty if there is none.
func parted(l located, deployments map[objectKey][]located) string {
	if l.kustomization == "" {
		return ""
	}
	var near []string
	for key, ls := range deployments {
		if strings.Contains(key.name, l.workload) || strings.Contains(l.workload, key.name) {
			near = append(near, key.namespace+"/"+key.name+" of "+place(ls[0].file, ls[0].at.line))
		}
	}
	if len(near) == 0 {
		return " as " + l.kustomization + " builds it"
	}
	slices.Sort(near)
	return fmt.Sprintf(" as %s builds it, which has Deployment %s: a namePrefix, nameSuffix or namespace must be set for both of them, in one kustomization",
		l.kustomization, near[0])
}
