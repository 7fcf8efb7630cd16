// Package subset reports whether one piece of decoded JSON is a subset of another.
package subset

import "slices"

// Of reports whether all that part says is in whole. Fields that part lacks, or has as null, are
// not missed; lists must be as long, and each of their elements a subset of the one in its place.
func Of(part, whole any) bool {
	switch part := part.(type) {
	case nil:
		return true
	case map[string]any:
		object, ok := whole.(map[string]any)
		for key, value := range part {
			if value != nil && (!ok || !Of(value, object[key])) {
				return false
			}
		}
		return true
	case []any:
		list, ok := whole.([]any)
		return ok && slices.EqualFunc(part, list, Of)
	}
	return part == whole
}
