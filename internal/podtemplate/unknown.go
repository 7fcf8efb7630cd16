package podtemplate

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Unknown returns what a template says in fields that our Go types don't have, because the control
// plane is newer than the libraries that we are built with: as JSON with sorted keys, empty if
// there is nothing.
func Unknown(raw []byte) (string, error) {
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal(raw, &template); err != nil {
		return "", fmt.Errorf("read pod template: %w", err)
	}
	known, err := json.Marshal(template)
	if err != nil {
		return "", fmt.Errorf("encode pod template: %w", err)
	}
	var all, kept any
	if err := json.Unmarshal(raw, &all); err != nil {
		return "", fmt.Errorf("read pod template: %w", err)
	}
	if err := json.Unmarshal(known, &kept); err != nil {
		return "", fmt.Errorf("read pod template: %w", err)
	}
	rest := beyond(all, kept)
	if rest == nil {
		return "", nil
	}
	data, err := json.Marshal(rest)
	if err != nil {
		return "", fmt.Errorf("encode pod template: %w", err)
	}
	return string(data), nil
}

// beyond returns what a value has that another one lacks, nil if that is nothing. Of lists, which
// have the same items, the items are named by their places.
func beyond(all, kept any) any {
	rest := map[string]any{}
	switch all := all.(type) {
	case map[string]any:
		kept, _ := kept.(map[string]any)
		for key, value := range all {
			if other, found := kept[key]; !found && !empty(value) {
				rest[key] = value
			} else if more := beyond(value, other); found && more != nil {
				rest[key] = more
			}
		}
	case []any:
		kept, _ := kept.([]any)
		for i := range min(len(all), len(kept)) {
			if more := beyond(all[i], kept[i]); more != nil {
				rest[fmt.Sprint(i)] = more
			}
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return rest
}

// empty reports whether a value is one that is left out of the JSON of our types.
func empty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case bool:
		return !value
	case float64:
		return value == 0
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	default:
		return false
	}
}
