package spec

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// builtins are kustomize's own transformers and generators that are let through, by kind: they do
// what fields of a kustomization do. All others run programs, fetch charts, or are not known.
var builtins = map[string][]string{
	"transformers": {
		"AnnotationsTransformer", "HashTransformer", "ImageTagTransformer", "LabelTransformer", "NamespaceTransformer", "PatchTransformer",
		"PrefixSuffixTransformer", "PrefixTransformer", "ReplicaCountTransformer", "SuffixTransformer",
	},
	"generators": {"ConfigMapGenerator", "SecretGenerator"},
}

// plugin holds the fields read of a transformer or generator.
type plugin struct {
	header `json:",inline"`
	// Files, Envs and Env are the inputs of a generator.
	Files []string `json:"files"`
	Envs  []string `json:"envs"`
	Env   string   `json:"env"`
	// Patch stands in the object, Path leads to one that does not.
	Patch string `json:"patch"`
	Path  string `json:"path"`
}

// checkPlugins refuses transformers and generators that are not kustomize's own, and takes note of
// what the others read.
func (c *referenceCheck) checkPlugins(file string, k *kustomization, field string, entries []string) {
	for i, entry := range entries {
		at := k.find(fmt.Sprintf("%s[%d]", field, i))
		if strings.Contains(entry, "\n") || strings.HasPrefix(strings.TrimSpace(entry), "{") {
			c.checkPlugin(file, at, field, file, []byte(entry))
			continue
		}
		name := path.Join(path.Dir(file), entry)
		if !c.refer(file, at, field, entry) {
			continue
		}
		c.manifests[name] = true
		data, problem := readInput(c.files, name, c.limits)
		if problem != nil {
			c.fail(file, at, fmt.Sprintf("%s: %q is not a file of kustomize's own %s: %s", field, entry, field, problem.Message))
			continue
		}
		c.checkPlugin(file, at, field, name, data)
	}
}

// checkPlugin checks the objects of a file of plug-ins, or of an entry that stands in the
// kustomization itself.
func (c *referenceCheck) checkPlugin(file string, at position, field, name string, data []byte) {
	documents, problems := split(data, c.limits)
	for _, doc := range documents {
		text, found := doc.toJSON(c.limits)
		problems = append(problems, found...)
		var p plugin
		if found == nil && json.Unmarshal(text, &p) != nil {
			problems = append(problems, problem{message: "it is not one of kustomize's own " + field})
		}
		if found == nil {
			problems = append(problems, c.pluginProblems(field, p)...)
		}
		for _, value := range slices.Concat(p.Files, p.Envs, []string{p.Env}) {
			c.refer(file, at, field, sourcePath(value))
		}
	}
	for _, problem := range problems {
		c.fail(file, at, fmt.Sprintf("%s: %s: %s", field, name, problem.message))
	}
}

func (c *referenceCheck) pluginProblems(field string, p plugin) []problem {
	switch {
	case p.APIVersion != "builtin" || !slices.Contains(builtins[field], p.Kind):
		return []problem{{message: fmt.Sprintf("%q of %q is not supported: of %s, only kustomize's own (apiVersion: builtin) %s are",
			p.Kind, p.APIVersion, field, strings.Join(builtins[field], ", "))}}
	case p.Path != "":
		return []problem{{message: "path is not supported: write the patch into the field patch, or use patches in the kustomization"}}
	}
	var problems []problem
	documents, problems := split([]byte(p.Patch), c.limits)
	for _, doc := range documents {
		if found := checkAliases(doc, c.limits); found != nil {
			problems = append(problems, *found)
		}
	}
	return problems
}

// sourcePath returns the path of an entry of files, without the key before it.
func sourcePath(entry string) string {
	if _, after, found := strings.Cut(entry, "="); found && !isRemote(entry) {
		return after
	}
	return entry
}
