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
// references that multiply, and learns which files there are to be read.
type referenceCheck struct {
	files  fs.FS
	limits Limits
	// known are kustomization files that were parsed before, by their contents.
	known kustomizations
	// visited are the folders that were reached, inputs what may be read, and manifests those inputs
	// that are parsed as YAML.
	visited, inputs, manifests map[string]bool
	visits                     int
	// component is set if the first one is a component, which is of use to others only.
	component bool
	// namespace is the one that the first one sets.
	namespace string
	errors    []Error
	stack     []string
}

// newReferenceCheck makes a check; known may be nil.
func newReferenceCheck(files fs.FS, limits Limits, known kustomizations) *referenceCheck {
	if known == nil {
		known = kustomizations{}
	}
	return &referenceCheck{
		files: files, limits: limits, known: known,
		visited: map[string]bool{}, inputs: map[string]bool{}, manifests: map[string]bool{},
	}
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
	for _, name := range kustomizationNames {
		c.inputs[path.Join(folder, name)] = true
	}
	c.visited[folder] = true
	k := c.load(file)
	if k == nil {
		return
	}
	if len(c.stack) == 0 {
		c.component, c.namespace = k.fields.Kind == types.ComponentKind, k.fields.Namespace
	}
	c.refuse(file, k)
	c.stack = append(c.stack, folder)
	defer func() { c.stack = c.stack[:len(c.stack)-1] }()
	for _, name := range k.folders() {
		target := inside(path.Join("/", folder, name))
		if len(c.errors) == 0 && !isRemote(name) && isFolder(c.files, target) {
			c.visit(target)
		}
	}
}

// load reads a kustomization file; nil if it is none.
func (c *referenceCheck) load(file string) *kustomization {
	data, problem := readInput(c.files, file, c.limits)
	if problem != nil {
		c.errors = append(c.errors, *problem)
		return nil
	}
	hash := digest(data)
	k := c.known[hash]
	if k == nil {
		k = parseKustomization(data, c.limits)
		c.known[hash] = k
	}
	for _, problem := range k.problems {
		c.fail(file, problem.at, problem.message)
	}
	if k.problems != nil {
		return nil
	}
	c.manifests[file] = true
	return k
}

// readInput reads a file that a kustomization may be built from.
func readInput(files fs.FS, name string, limits Limits) ([]byte, *Error) {
	fail := func(message string) ([]byte, *Error) { return nil, &Error{File: name, Message: message} }
	switch info, err := lstat(files, name); {
	case err != nil:
		return fail(readProblem(err))
	case isOwn(name):
		return fail("the file is Sluice's own and is not read")
	case !info.Mode().IsRegular():
		return fail("a symbolic link or submodule is not followed")
	case info.Size() > limits.FileBytes:
		return fail(tooLarge(info.Size(), limits.FileBytes).Error())
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return fail(readProblem(err))
	}
	return data, nil
}

// leads reports whether a path, as seen from a folder, leads out of the repository. Kustomize would
// take the root of the repository for what is above it, and so find what its author does not see
// there.
func leads(folder, name string) bool {
	return path.IsAbs(name) || !fs.ValidPath(path.Join(folder, name))
}

var quotedField = regexp.MustCompile(`unknown field "([^"]+)"`)

func unknownField(err error) string {
	if match := quotedField.FindStringSubmatch(err.Error()); match != nil {
		return match[1]
	}
	return ""
}

// refuse reports what is not supported, and takes note of what is.
func (c *referenceCheck) refuse(file string, k *kustomization) {
	for _, name := range k.unsupported() {
		c.fail(file, k.find(name), name+" is not supported: "+whyNot(name))
	}
	c.checkPlugins(file, k, "transformers", k.fields.Transformers)
	c.checkPlugins(file, k, "generators", k.fields.Generators)
	for _, r := range referencesOf(k.fields) {
		if c.refer(file, k.find(r.at), r.field, r.value) && !slices.Contains(generatorFields, r.field) {
			c.manifests[path.Join(path.Dir(file), r.value)] = true
		}
	}
}

// whyNot says why a field is not supported, and what to do.
func whyNot(field string) string {
	if strings.HasPrefix(field, "helm") {
		return "Sluice does not render Helm charts: commit what they make, see docs/repositories.md#helm-charts"
	}
	return "it runs plug-ins or changes how other kustomizations are read"
}

// refer takes note of what a field refers to, and reports whether it may be read.
func (c *referenceCheck) refer(file string, at position, field, value string) bool {
	name := path.Join(path.Dir(file), value)
	if problem := refusal(path.Dir(file), value, c.limits); problem != "" {
		c.fail(file, at, fmt.Sprintf("%s: %q %s", field, value, problem))
		return false
	}
	if link := linkTo(c.files, name); link != "" {
		c.fail(file, at, fmt.Sprintf("%s: %q leads through %q, and a symbolic link or submodule is not followed", field, value, link))
		return false
	}
	c.inputs[name] = true
	return true
}

// refusal says why what a path leads to is not read; it is empty if it may be.
func refusal(folder, value string, limits Limits) string {
	switch name := path.Join(folder, value); {
	case isRemote(value):
		return "is not in the repository, and nothing is fetched from elsewhere: commit a copy, such as with kustomize localize, or let the release stand " +
			"beside a kustomization of its own that has local files only"
	case leads(folder, value):
		return "leads out of the repository: use a path relative to this file"
	case isTooDeep(path.Dir(name), limits):
		return fmt.Sprintf("is more than %d folders deep", limits.Depth)
	case isOwn(name):
		return "is Sluice's own and is not read"
	case isGits(name):
		return "is Git's own and is not read"
	}
	return ""
}

// isGits reports whether a path leads into the .git folder, which only a work tree has, and which
// may hold credentials.
func isGits(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
}

// generatorFields refer to files whose contents are only copied.
var generatorFields = []string{"configMapGenerator", "secretGenerator"}

// reference is a path in a kustomization, and the field that it stands in.
type reference struct{ field, at, value string }

// referencesOf returns all paths of a kustomization.
func referencesOf(k *types.Kustomization) []reference {
	var all []reference
	add := func(field string, values []string) {
		for i, value := range values {
			all = append(all, reference{field, fmt.Sprintf("%s[%d]", field, i), value})
		}
	}
	add("resources", k.Resources)
	add("bases", k.Bases)
	add("components", k.Components)
	add("crds", k.Crds)
	add("configurations", k.Configurations)
	for i, patch := range k.Patches {
		all = append(all, reference{"patches", fmt.Sprintf("patches[%d].path", i), patch.Path})
	}
	for i, patch := range k.PatchesJson6902 {
		all = append(all, reference{"patchesJson6902", fmt.Sprintf("patchesJson6902[%d].path", i), patch.Path})
	}
	for i, patch := range k.PatchesStrategicMerge {
		if !strings.Contains(string(patch), "\n") { // else it is the patch itself
			all = append(all, reference{"patchesStrategicMerge", fmt.Sprintf("patchesStrategicMerge[%d]", i), string(patch)})
		}
	}
	for i, replacement := range k.Replacements {
		all = append(all, reference{"replacements", fmt.Sprintf("replacements[%d].path", i), replacement.Path})
	}
	for i, generator := range k.ConfigMapGenerator {
		for _, source := range sources(generator.KvPairSources) {
			all = append(all, reference{"configMapGenerator", fmt.Sprintf("configMapGenerator[%d]", i), source})
		}
	}
	for i, generator := range k.SecretGenerator {
		for _, source := range sources(generator.KvPairSources) {
			all = append(all, reference{"secretGenerator", fmt.Sprintf("secretGenerator[%d]", i), source})
		}
	}
	return all
}

// sources returns the paths of a generator, without the keys before them.
func sources(from types.KvPairSources) []string {
	var paths []string
	for _, source := range slices.Concat(from.FileSources, from.EnvSources, []string{from.EnvSource}) {
		paths = append(paths, sourcePath(source))
	}
	return paths
}

// remote matches all that kustomize takes for a repository or URL to fetch:
// NewRepoSpecFromURL and IsRemoteFile in its sources.
var remote = regexp.MustCompile(`(?i)^(git::|https?:|ssh:|file:|[a-z][a-z0-9-]*@|github\.com[/:])|://`)

// isRemote reports whether kustomize would look for a path elsewhere.
func isRemote(value string) bool { return remote.MatchString(value) }
