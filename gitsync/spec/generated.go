package spec

import (
	"encoding/json"
	"slices"

	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// noteGenerated remembers an object that kustomize has generated: no file has it.
func (b *build) noteGenerated(built builtObject) {
	var object header
	if built.File == "" && json.Unmarshal(built.Object, &object) == nil && object.APIVersion == "v1" && kind(object.Kind).isConfig() {
		b.generated = append(b.generated, object)
	}
}

// generatedFor returns which of the generated objects the template of a manifest names.
func generatedFor(m *manifest, generated []header) []string {
	if len(generated) == 0 || m.template == nil {
		return nil
	}
	named := podtemplate.References(toMap(m.template))
	var names []string
	for _, object := range generated {
		if named[podtemplate.Reference{Kind: object.Kind, Name: object.Metadata.Name}] && object.Metadata.Namespace == m.namespace {
			names = append(names, object.Kind+" "+object.Metadata.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
