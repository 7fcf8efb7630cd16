package spec

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// onlyMerges reports whether no key is written twice in any mapping, and each merge key stands
// before the keys that override what it brings. The YAML library calls an overridden key a
// duplicate; of a merge key further down, readers make different things.
func (d document) onlyMerges() bool {
	root := d.node()
	return root != nil && merges(root)
}

func merges(node *yaml.Node) bool {
	if node.Kind == yaml.MappingNode {
		written := map[string]bool{}
		for i := 0; i < len(node.Content); i += 2 {
			key := node.Content[i]
			if key.Kind != yaml.ScalarNode || written[key.Value] || key.Tag == "!!merge" && i > 0 {
				return false
			}
			written[key.Value] = true
		}
	}
	return !slices.ContainsFunc(node.Content, func(inner *yaml.Node) bool { return !merges(inner) })
}
