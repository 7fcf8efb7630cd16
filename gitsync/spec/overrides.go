package spec

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// override is something that an applier changes in what it applies.
type override struct {
	substitutes bool
	images      []imageOverride
	patches     []patchOverride
	// renames: workloads get other names.
	renames bool
	// namespace that workloads get; empty for their own. With unset it is only that of workloads whose
	// manifest names none.
	namespace string
	unset     bool
	// unknown: only a build tells what it changes.
	unknown bool
}

// imageOverride is an entry of images in a kustomization.
type imageOverride struct {
	Name    string `json:"name"`
	NewName string `json:"newName"`
	NewTag  string `json:"newTag"`
	Digest  string `json:"digest"`
}

// patchOverride is an entry of patches in a kustomization.
type patchOverride struct {
	Patch  string `json:"patch"`
	Target *struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"target"`
}

// effect of an override on a release.
type effect int

const (
	noEffect effect = iota
	// otherTemplate: the applied template differs from Git's files.
	otherTemplate
	// otherWorkload: the workload that is applied is not the one that the release names.
	otherWorkload
)

// on says what an override does to a release.
func (o override) on(r *Release) effect {
	switch {
	case o.unset && r.workload != nil && r.workload.namespace != "":
		return noEffect
	case o.renames, o.namespace != "" && o.namespace != r.Namespace:
		return otherWorkload
	case o.unknown,
		o.substitutes && variable.Match(r.template),
		slices.ContainsFunc(o.images, func(i imageOverride) bool { return i.changes(r) }),
		slices.ContainsFunc(o.patches, func(p patchOverride) bool { return p.changes(r) }):
		return otherTemplate
	}
	return noEffect
}

// imageName splits an image into its name, and its tag and digest.
func imageName(image string) (name, rest string) {
	if at := strings.IndexByte(image, '@'); at >= 0 {
		return image[:at], image[at:]
	}
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		return image[:colon], image[colon:]
	}
	return image, ""
}

// argoImage reads an entry of images of Argo CD, such as nginx:1.29 or nginx=mirror/nginx:1.29.
func argoImage(text string) imageOverride {
	old, replaced, renamed := strings.Cut(text, "=")
	if !renamed {
		replaced = old
		old, _ = imageName(old)
	}
	name, rest := imageName(replaced)
	return imageOverride{Name: old, NewName: name, NewTag: strings.TrimPrefix(rest, ":"), Digest: strings.TrimPrefix(rest, "@")}
}

// changes reports whether a container gets another image.
func (i imageOverride) changes(r *Release) bool {
	var template corev1.PodTemplateSpec
	if json.Unmarshal(r.template, &template) != nil {
		return false
	}
	return slices.ContainsFunc(slices.Concat(template.Spec.InitContainers, template.Spec.Containers), func(c corev1.Container) bool {
		name, rest := imageName(c.Image)
		if name != i.Name {
			return false
		}
		renamed := i.NewName != "" && i.NewName != name
		tagged := i.NewTag != "" && rest != ":"+i.NewTag && rest != i.NewTag
		return renamed || tagged && i.NewTag != "@"+i.Digest || i.Digest != "" && i.NewTag != i.Digest && rest != "@"+i.Digest
	})
}

// changes reports whether a patch may change the template: it is for the workload, and speaks of
// the template.
func (p patchOverride) changes(r *Release) bool {
	var operations []struct {
		Path string `json:"path"`
	}
	if yaml.Unmarshal([]byte(p.Patch), &operations) == nil {
		return p.targets(r, header{}) && slices.ContainsFunc(operations, func(o struct {
			Path string `json:"path"`
		}) bool {
			return strings.HasPrefix(o.Path+"/", "/spec/template/") || o.Path == "/spec" || o.Path == ""
		})
	}
	var merge struct {
		header `json:",inline"`
		Spec   struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	return yaml.Unmarshal([]byte(p.Patch), &merge) == nil && merge.Spec.Template != nil && p.targets(r, merge.header)
}

// targets reports whether a patch is for a workload, by its target or, without one, by its own
// header.
func (p patchOverride) targets(r *Release, own header) bool {
	kind, name := own.Kind, own.Metadata.Name
	if p.Target != nil {
		kind, name = p.Target.Kind, p.Target.Name
	}
	return matchesWhole(kind, r.WorkloadKind) && matchesWhole(name, r.Workload)
}

// matchesWhole compares with a regular expression, as kustomize does; an empty one matches all.
func matchesWhole(pattern, text string) bool {
	expression, err := regexp.Compile("^(?:" + pattern + ")$")
	return pattern == "" || err == nil && expression.MatchString(text)
}

// findOverrides looks for objects of Flux and Argo CD that apply the workloads of releases
// otherwise than Git's files have them. It returns warnings, and the releases without those of
// which another workload is applied.
func (p *pass) findOverrides(releases []*Release) ([]*Release, []Error) {
	given := releases
	if releases = slices.Concat(releases, p.withVariables); len(releases) == 0 {
		return nil, nil
	}
	appliers := slices.DeleteFunc(p.findAppliers(), func(a *applier) bool { return !sameRepository(a.repository, p.opts.Repository) })
	// fits are the releases whose own workload some applier applies: those that apply another one are
	// for somewhere else.
	fits := map[*Release]bool{}
	for _, release := range releases {
		fits[release] = slices.ContainsFunc(appliers, func(a *applier) bool { return a.applies(release) && p.keepsWorkload(a, release) })
	}
	var warnings []Error
	refused := map[*Release]bool{}
	for _, a := range appliers {
		for _, o := range a.overrides {
			affected := p.affected(a, o, releases)
			if rs := affected[otherTemplate]; len(rs) > 0 {
				warnings = append(warnings, o.at.error(a.file, a.warning(o, rs)))
			}
			if rs := slices.DeleteFunc(affected[otherWorkload], func(r *Release) bool { return fits[r] }); len(rs) > 0 {
				p.fail(a.file, o.at, a.refusal(o, rs))
				for _, release := range rs {
					refused[release] = true
					p.doubts = append(p.doubts, Doubt{File: a.file, Names: []string{release.Name}})
				}
			}
		}
	}
	return slices.DeleteFunc(given, func(r *Release) bool { return refused[r] }), warnings
}

// affected returns the releases that an applier applies, by the effect of an override on them.
func (p *pass) affected(a *applier, o placedOverride, releases []*Release) map[effect][]*Release {
	affected := map[effect][]*Release{}
	for _, release := range releases {
		if a.applies(release) {
			of := p.effectOf(o, release)
			affected[of] = append(affected[of], release)
		}
	}
	return affected
}

// effectOf returns the effect of an override; that of a namespace is not known where that of the
// source is not.
func (p *pass) effectOf(o placedOverride, r *Release) effect {
	if o.namespace != "" && p.opts.AnyNamespace {
		return noEffect
	}
	return o.on(r)
}

// keepsWorkload reports whether an applier applies the workload that a release names.
func (p *pass) keepsWorkload(a *applier, r *Release) bool {
	return !slices.ContainsFunc(a.overrides, func(o placedOverride) bool { return p.effectOf(o, r) == otherWorkload })
}

// applies reports whether the workload of a release is among what is applied.
func (a *applier) applies(r *Release) bool {
	return a.covers(r.templatePlace.File) || r.Kustomization != "" && a.covers(path.Dir(r.Kustomization))
}

func named(releases []*Release) string {
	text := fmt.Sprintf("BatchRelease %s (%s)", releases[0].Name, place(releases[0].File, releases[0].Line))
	if more := len(releases) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (a *applier) warning(o placedOverride, releases []*Release) string {
	return fmt.Sprintf("%s: %s changes the template of %s when it applies folder %q, and Sluice releases the template of the files: "+
		"make the change in the files, such as in kustomization.yaml. If this is for another cluster, name the file in %s",
		o.field, a.what, named(releases), a.folder, IgnoreFile)
}

func (a *applier) refusal(o placedOverride, releases []*Release) string {
	return fmt.Sprintf("%s: %s applies the workload of %s under another name or namespace, and Sluice would create a second one: "+
		"make the change in the files, such as in kustomization.yaml. If this is for another cluster, name the file in %s",
		o.field, a.what, named(releases), IgnoreFile)
}

func itemPath(list string, index int) string { return fmt.Sprintf("%s[%d].", list, index) }
