package podtemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Dropped names the fields that a template has as its author gave it, and not as the API server
// keeps it. Empty values don't count.
func Dropped(given, kept []byte) ([]string, error) {
	var all, left any
	if err := json.Unmarshal(given, &all); err != nil {
		return nil, fmt.Errorf("read pod template: %w", err)
	}
	if err := json.Unmarshal(kept, &left); err != nil {
		return nil, fmt.Errorf("read pod template: %w", err)
	}
	return dropped("spec.template", all, left), nil
}

func dropped(path string, given, kept any) []string {
	var paths []string
	switch given := given.(type) {
	case map[string]any:
		object, _ := kept.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(given)) {
			value, at := given[key], path+"."+key
			under := dropped(at, value, object[key])
			if _, kept := object[key]; kept || len(under) == 0 {
				paths = append(paths, under...)
			} else {
				paths = append(paths, at) // whole
			}
		}
	case []any:
		list, _ := kept.([]any)
		if len(list) < len(given) {
			return []string{path}
		}
		for i, value := range given {
			paths = append(paths, dropped(fmt.Sprintf("%s[%d]", path, i), value, list[i])...)
		}
	default:
		if kept == nil && !empty(given) {
			return []string{path}
		}
	}
	return paths
}
