package spec

import (
	"bytes"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
)

// kustomization is the content of a kustomization's file. It depends on the content only.
type kustomization struct {
	doc      document
	fields   *types.Kustomization
	problems []problem
}

// kustomizations are files by the digests of their contents.
type kustomizations map[string]*kustomization

func (k *kustomization) find(field string) position { return k.doc.find(field) }

// parseKustomization parses a file as kustomize does, once all in it that is YAML is known to be
// small.
func parseKustomization(data []byte, limits Limits) *kustomization {
	defer dense.enter(weigh(data))()
	k := &kustomization{doc: document{text: data, line: 1, tree: &syntaxTree{}}, fields: &types.Kustomization{}}
	documents, problems := split(data, limits)
	for _, doc := range documents {
		_, found := doc.toJSON(limits)
		problems = append(problems, found...)
	}
	if problems != nil && isTemplate(data) {
		problems = []problem{{problems[0].at, "this looks like a template of Helm or another program, which Sluice does not render: " +
			"commit what it makes (docs/repositories.md#helm-charts), or name the file in " + IgnoreFile}}
	}
	if k.problems = problems; problems != nil {
		return k
	}
	if bytes.Contains(data, []byte("apiVersion: kustomize.toolkit.fluxcd.io/")) {
		k.problems = []problem{{k.find("apiVersion"), "this is a Kustomization of Flux, and kustomize takes a file of this name for one of its own: " +
			"give it another name, such as flux-kustomization.yaml"}}
		return k
	}
	if err := k.fields.Unmarshal(data); err != nil {
		k.problems = []problem{{k.find(unknownField(err)), shorten(err.Error())}}
		return k
	}
	for field, patches := range k.patches() {
		for _, patch := range patches {
			k.problems = append(k.problems, k.checkPatch(field, patch, limits)...)
		}
	}
	return k
}

// checkPatch checks the aliases of a patch that stands in the kustomization's own file.
func (k *kustomization) checkPatch(field, patch string, limits Limits) []problem {
	documents, problems := split([]byte(patch), limits)
	for i := range problems {
		problems[i] = problem{k.find(field), field + ": " + problems[i].message}
	}
	for _, doc := range documents {
		if found := checkAliases(doc, limits); found != nil {
			problems = append(problems, problem{k.find(field), field + ": " + found.message})
		}
	}
	return problems
}

// patches returns those that stand in the file itself, by field.
func (k *kustomization) patches() map[string][]string {
	all := map[string][]string{}
	for _, patch := range k.fields.Patches {
		all["patches"] = append(all["patches"], patch.Patch)
	}
	for _, patch := range k.fields.PatchesJson6902 {
		all["patchesJson6902"] = append(all["patchesJson6902"], patch.Patch)
	}
	for _, patch := range k.fields.PatchesStrategicMerge {
		all["patchesStrategicMerge"] = append(all["patchesStrategicMerge"], string(patch))
	}
	return all
}

// folders returns the paths at which there may be other kustomizations.
func (k *kustomization) folders() []string {
	return slices.Concat(k.fields.Resources, k.fields.Bases, k.fields.Components)
}

// unsupported returns the fields that are given, and may not be.
func (k *kustomization) unsupported() []string {
	given := map[string]bool{
		"validators":                  len(k.fields.Validators) > 0,
		"helmCharts":                  len(k.fields.HelmCharts) > 0,
		"helmChartInflationGenerator": len(k.fields.HelmChartInflationGenerator) > 0,
		"helmGlobals":                 k.fields.HelmGlobals != nil,
		"openapi":                     len(k.fields.OpenAPI) > 0,
	}
	var names []string
	for name, is := range given {
		if is {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// made returns how many objects the kustomization of a folder makes, given how many its files hold,
// with each counted as often as it is referred to. It never is much more than a limit. The
// references were checked: they make no circle.
func (c *referenceCheck) made(folder string, objects, done map[string]int) int {
	if sum, found := done[folder]; found {
		return sum
	}
	sum := 0
	if k := c.load(kustomizationFile(c.files, folder)); k != nil {
		sum = len(k.fields.ConfigMapGenerator) + len(k.fields.SecretGenerator)
		for _, reference := range k.folders() {
			if name := path.Join(folder, reference); isFolder(c.files, name) {
				sum += c.made(name, objects, done)
			} else {
				sum += objects[name]
			}
			sum = min(sum, c.limits.Objects+1)
		}
		for _, reference := range k.fields.Generators {
			sum = min(sum+max(1, objects[path.Join(folder, reference)]), c.limits.Objects+1)
		}
	}
	done[folder] = sum
	return sum
}
