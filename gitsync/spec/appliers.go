package spec

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
)

// applier is an object by which Flux or Argo CD applies a folder of the repository, and may change
// what is in it.
type applier struct {
	// The name of the applier, such as Flux Kustomization apps.
	what string
	// folder that it applies, and repository that this is in, empty for its own.
	folder, repository string
	file               string
	// overrides by their fields, and the places of these.
	overrides []placedOverride
}

type placedOverride struct {
	override

	field string
	at    position
}

// appliersIn finds the appliers of a file. A file that can't be parsed has none: Sluice need not
// check it.
func appliersIn(data []byte, limits Limits) []*applier {
	if !bytes.Contains(data, []byte("kustomize.toolkit.fluxcd.io/")) && !bytes.Contains(data, []byte("argoproj.io/")) {
		return nil
	}
	defer dense.enter(weigh(data))()
	var found []*applier
	documents, _ := split(data, limits)
	for _, doc := range documents {
		text, problems := doc.toJSON(limits)
		var object header
		if problems != nil || json.Unmarshal(text, &object) != nil {
			continue
		}
		group, _, _ := strings.Cut(object.APIVersion, "/")
		switch {
		case group == "kustomize.toolkit.fluxcd.io" && object.Kind == "Kustomization":
			found = append(found, fluxApplier(doc, text, object.Metadata.Name)...)
		case group == "argoproj.io" && (object.Kind == "Application" || object.Kind == "ApplicationSet"):
			found = append(found, argoAppliers(doc, text, object)...)
		}
	}
	return found
}

// fluxKustomization holds the fields read of a Kustomization of Flux.
type fluxKustomization struct {
	Spec struct {
		Path                  string            `json:"path"`
		TargetNamespace       string            `json:"targetNamespace"`
		NamePrefix            string            `json:"namePrefix"`
		NameSuffix            string            `json:"nameSuffix"`
		Images                []imageOverride   `json:"images"`
		Patches               []patchOverride   `json:"patches"`
		PatchesStrategicMerge []json.RawMessage `json:"patchesStrategicMerge"`
		PatchesJSON6902       []json.RawMessage `json:"patchesJson6902"`
		Components            []string          `json:"components"`
		PostBuild             struct {
			Substitute     map[string]any    `json:"substitute"`
			SubstituteFrom []json.RawMessage `json:"substituteFrom"`
		} `json:"postBuild"`
	} `json:"spec"`
}

func fluxApplier(doc document, text []byte, name string) []*applier {
	var k fluxKustomization
	if json.Unmarshal(text, &k) != nil {
		return nil
	}
	a := &applier{what: "Flux Kustomization " + name, folder: folderOf(k.Spec.Path)}
	add := func(given bool, field string, o override) {
		if given {
			a.overrides = append(a.overrides, placedOverride{o, field, doc.find(field)})
		}
	}
	add(len(k.Spec.PostBuild.Substitute)+len(k.Spec.PostBuild.SubstituteFrom) > 0, "spec.postBuild", override{substitutes: true})
	add(len(k.Spec.Images) > 0, "spec.images", override{images: k.Spec.Images})
	add(len(k.Spec.Patches) > 0, "spec.patches", override{patches: k.Spec.Patches})
	add(len(k.Spec.PatchesStrategicMerge) > 0, "spec.patchesStrategicMerge", override{unknown: true})
	add(len(k.Spec.PatchesJSON6902) > 0, "spec.patchesJson6902", override{unknown: true})
	add(len(k.Spec.Components) > 0, "spec.components", override{unknown: true})
	add(k.Spec.NamePrefix != "", "spec.namePrefix", override{renames: true})
	add(k.Spec.NameSuffix != "", "spec.nameSuffix", override{renames: true})
	add(k.Spec.TargetNamespace != "", "spec.targetNamespace", override{namespace: k.Spec.TargetNamespace})
	return []*applier{a}
}

// argoSource holds the fields read of a source of an Application of Argo CD.
type argoSource struct {
	RepoURL   string `json:"repoURL"`
	Path      string `json:"path"`
	Kustomize struct {
		Images            []string        `json:"images"`
		NamePrefix        string          `json:"namePrefix"`
		NameSuffix        string          `json:"nameSuffix"`
		Namespace         string          `json:"namespace"`
		CommonLabels      map[string]any  `json:"commonLabels"`
		CommonAnnotations map[string]any  `json:"commonAnnotations"`
		Patches           []patchOverride `json:"patches"`
		Components        []string        `json:"components"`
	} `json:"kustomize"`
}

type argoSpec struct {
	Source      *argoSource  `json:"source"`
	Sources     []argoSource `json:"sources"`
	Destination struct {
		Namespace string `json:"namespace"`
	} `json:"destination"`
}

func argoAppliers(doc document, text []byte, object header) []*applier {
	var app struct {
		Spec struct {
			argoSpec `json:",inline"`
			Template struct {
				Spec argoSpec `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	if json.Unmarshal(text, &app) != nil {
		return nil
	}
	of, at := app.Spec.argoSpec, "spec."
	if object.Kind == "ApplicationSet" {
		of, at = app.Spec.Template.Spec, "spec.template.spec."
	}
	var found []*applier
	if of.Source != nil {
		found = append(found, of.Source.applier(doc, at+"source.", of.Destination.Namespace))
	}
	for i := range of.Sources {
		found = append(found, of.Sources[i].applier(doc, at+itemPath("sources", i), of.Destination.Namespace))
	}
	for _, a := range found {
		a.what = "Argo CD " + object.Kind + " " + object.Metadata.Name
	}
	return found
}

func (s *argoSource) applier(doc document, at, namespace string) *applier {
	a := &applier{folder: folderOf(s.Path), repository: s.RepoURL}
	add := func(given bool, field string, o override) {
		if given {
			a.overrides = append(a.overrides, placedOverride{o, at + "kustomize." + field, doc.find(at + "kustomize." + field)})
		}
	}
	k := s.Kustomize
	var images []imageOverride
	for _, image := range k.Images {
		images = append(images, argoImage(image))
	}
	add(len(images) > 0, "images", override{images: images})
	add(k.NamePrefix != "", "namePrefix", override{renames: true})
	add(k.NameSuffix != "", "nameSuffix", override{renames: true})
	add(k.Namespace != "", "namespace", override{namespace: k.Namespace})
	add(len(k.CommonLabels) > 0, "commonLabels", override{unknown: true})
	add(len(k.CommonAnnotations) > 0, "commonAnnotations", override{unknown: true})
	add(len(k.Patches) > 0, "patches", override{patches: k.Patches})
	add(len(k.Components) > 0, "components", override{unknown: true})
	if namespace != "" && k.Namespace == "" {
		field := "spec.destination.namespace"
		a.overrides = append(a.overrides, placedOverride{override{namespace: namespace, unset: true}, field, doc.find(field)})
	}
	return a
}

// folderOf returns a folder as an applier names it; empty if it is only known once a template is
// filled in.
func folderOf(given string) string {
	if strings.Contains(given, "{{") {
		return ""
	}
	if clean := strings.TrimPrefix(path.Clean("/"+given), "/"); clean != "" {
		return clean
	}
	return "."
}

// covers reports whether the applier applies a file.
func (a *applier) covers(file string) bool {
	return a.folder == "." || file == a.folder || a.folder != "" && strings.HasPrefix(file, a.folder+"/")
}

// sameRepository reports whether two URLs may name the same repository; unknown ones may.
func sameRepository(a, b string) bool {
	return a == "" || b == "" || repositoryName(a) == repositoryName(b)
}

// repositoryName returns a URL without what may differ: its scheme, its user, and .git at its end.
func repositoryName(url string) string {
	if _, after, found := strings.Cut(url, "://"); found {
		url = after
	}
	if _, after, found := strings.Cut(url, "@"); found {
		url = after
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(strings.Replace(url, ":", "/", 1)), "/"), ".git")
}

// findAppliers looks through all files of the repository, as appliers mostly stand elsewhere than
// what they apply. It is a help to people, and ends early in a repository that is too large.
func (p *pass) findAppliers() []*applier {
	var all []*applier
	entries, total := 0, int64(0)
	_ = fs.WalkDir(p.tree, ".", func(name string, d fs.DirEntry, err error) error {
		if entries++; entries > p.opts.Limits.Entries || total > p.opts.Limits.TotalBytes {
			return fs.SkipAll
		}
		switch {
		case err != nil, name != "." && strings.HasPrefix(d.Name(), "."), d.IsDir() && p.ignore.skipsFolder(name):
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !d.Type().IsRegular() || !isYAML(name) || p.ignore.ignores(name, false):
			return nil
		}
		found, size := p.appliersOf(name, d)
		total += size
		for _, a := range found {
			placed := *a
			placed.file = name
			all = append(all, &placed)
		}
		return nil
	})
	return all
}

// appliersOf returns the appliers of a file, and how many bytes it read.
func (p *pass) appliersOf(name string, d fs.DirEntry) ([]*applier, int64) {
	info, err := d.Info()
	if err != nil || info.Size() > p.opts.Limits.FileBytes {
		return nil, 0
	}
	hash := hashOf(info)
	if notFetched(info) {
		return nil, 0 // to look for appliers is no reason to fetch all of a large repository
	}
	for _, known := range []map[string][]*applier{p.now.appliers, p.before.appliers} {
		if found, is := known[hash]; is && hash != "" {
			p.now.appliers[hash] = found
			return found, 0
		}
	}
	data, err := fs.ReadFile(p.tree, name)
	if err != nil {
		return nil, 0
	}
	found := appliersIn(data, p.opts.Limits)
	if hash != "" {
		p.now.appliers[hash] = found
	}
	return found, int64(len(data))
}
