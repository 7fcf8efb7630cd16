package spec

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// referenceCheck follows a kustomization's references to others before kustomize
// does. It refuses what kustomize would fetch from elsewhere or run, and
// references that multiply.
type referenceCheck struct {
	files  fs.FS
	limits Limits
	// visited are the folders that were reached.
	visited map[string]bool
	visits  int
	// component is set if the first one is a component, which is of use to others only.
	component bool
	errors    []Error
	stack     []string
}

func (c *referenceCheck) fail(file string, at position, message string) {
	if err := at.error(file, message); !slices.Contains(c.errors, err) {
		c.errors = append(c.errors, err)
	}
}

// visit checks the kustomization of a folder and those it refers to.
func (c *referenceCheck) visit(folder string) {
	file := kustomizationFile(c.files, folder)
	if c.visits++; c.visits > c.limits.Kustomizations {
		c.fail(file, position{}, fmt.Sprintf("the kustomization refers to others more than %d times", c.limits.Kustomizations))
		return
	}
	if slices.Contains(c.stack, folder) {
		c.fail(file, position{}, "the kustomization refers to itself")
		return
	}
	c.visited[folder] = true
	k, doc := c.load(file)
	if k == nil {
		return
	}
	if len(c.stack) == 0 {
		c.component = k.Kind == types.ComponentKind
	}
	c.refuse(file, doc, k)
	c.stack = append(c.stack, folder)
	defer func() { c.stack = c.stack[:len(c.stack)-1] }()
	for _, name := range slices.Concat(k.Resources, k.Bases, k.Components) {
		target := inside(path.Join("/", folder, name))
		if !isRemote(name) && isFolder(c.files, target) && len(c.errors) == 0 {
			c.visit(target)
		}
	}
}

// leads reports whether a path, as seen from a folder, leads out of the repository. Kustomize would take the root of
// the repository for what is above it, and so find what its author does not see there.
func leads(folder, name string) bool {
	return path.IsAbs(name) || !fs.ValidPath(path.Join(folder, name))
}

// load reads a kustomization file.
func (c *referenceCheck) load(file string) (*types.Kustomization, document) {
	view := newView(c.files, c.limits, c.visited)
	data, err := view.ReadFile(file)
	for _, problem := range view.problems {
		c.fail(problem.File, position{problem.Line, problem.Column}, problem.Message)
	}
	if err != nil {
		if len(view.problems) == 0 {
			c.fail(file, position{}, readProblem(err))
		}
		return nil, document{}
	}
	doc := document{text: data, line: 1}
	k := &types.Kustomization{}
	if err := k.Unmarshal(data); err != nil {
		c.fail(file, doc.find(unknownField(err)), shorten(err.Error()))
		return nil, doc
	}
	return k, doc
}

var quotedField = regexp.MustCompile(`unknown field "([^"]+)"`)

func unknownField(err error) string {
	if match := quotedField.FindStringSubmatch(err.Error()); match != nil {
		return match[1]
	}
	return ""
}

// refuse reports what is not supported.
func (c *referenceCheck) refuse(file string, doc document, k *types.Kustomization) {
	unsupported := map[string]bool{
		"generators":                  len(k.Generators) > 0,
		"transformers":                len(k.Transformers) > 0,
		"validators":                  len(k.Validators) > 0,
		"helmCharts":                  len(k.HelmCharts) > 0,
		"helmChartInflationGenerator": len(k.HelmChartInflationGenerator) > 0,
		"helmGlobals":                 k.HelmGlobals != nil,
		"openapi":                     len(k.OpenAPI) > 0,
	}
	for name, used := range unsupported {
		if used {
			c.fail(file, doc.find(name), name+" is not supported: it runs plug-ins or changes how other kustomizations are read")
		}
	}
	for name, values := range referencesOf(k) {
		for _, value := range values {
			switch {
			case isRemote(value):
				c.fail(file, doc.find(name), fmt.Sprintf("%s: %q is not in the repository, and nothing is fetched from elsewhere", name, value))
			case leads(path.Dir(file), value):
				c.fail(file, doc.find(name), fmt.Sprintf("%s: %q leads out of the repository: name it from the folder of this file", name, value))
			case isOwn(path.Join(path.Dir(file), value)):
				c.fail(file, doc.find(name), fmt.Sprintf("%s: %q is Sluice's own and is not read", name, value))
			}
		}
	}
}

// referencesOf returns all paths of a kustomization by the field they stand in.
func referencesOf(k *types.Kustomization) map[string][]string {
	references := map[string][]string{
		"resources":      k.Resources,
		"bases":          k.Bases,
		"components":     k.Components,
		"crds":           k.Crds,
		"configurations": k.Configurations,
	}
	for _, patch := range k.Patches {
		references["patches"] = append(references["patches"], patch.Path)
	}
	for _, patch := range k.PatchesJson6902 {
		references["patchesJson6902"] = append(references["patchesJson6902"], patch.Path)
	}
	for _, patch := range k.PatchesStrategicMerge {
		if !strings.Contains(string(patch), "\n") { // else it is the patch itself
			references["patchesStrategicMerge"] = append(references["patchesStrategicMerge"], string(patch))
		}
	}
	for _, replacement := range k.Replacements {
		references["replacements"] = append(references["replacements"], replacement.Path)
	}
	for _, generator := range k.ConfigMapGenerator {
		references["configMapGenerator"] = append(references["configMapGenerator"], sources(generator.KvPairSources)...)
	}
	for _, generator := range k.SecretGenerator {
		references["secretGenerator"] = append(references["secretGenerator"], sources(generator.KvPairSources)...)
	}
	return references
}

// sources returns the paths of a generator, without the keys before them.
func sources(from types.KvPairSources) []string {
	var paths []string
	for _, source := range slices.Concat(from.FileSources, from.EnvSources, []string{from.EnvSource}) {
		if _, after, found := strings.Cut(source, "="); found && !isRemote(source) {
			source = after
		}
		paths = append(paths, source)
	}
	return paths
}

// remote matches all that kustomize takes for a repository or URL to fetch:
// NewRepoSpecFromURL and IsRemoteFile in its sources.
var remote = regexp.MustCompile(`(?i)^(git::|https?:|ssh:|file:|[a-z][a-z0-9-]*@|github\.com[/:])|://`)

// isRemote tells whether kustomize would look for a path elsewhere.
func isRemote(value string) bool { return remote.MatchString(value) }
