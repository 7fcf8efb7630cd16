package plan

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/subset"
)

// edited names the fields of a release's spec that differ from Git though Git has not changed them.
func edited(live *v1alpha1.BatchRelease, release *spec.Release, last Applied) []string {
	if live == nil || live.Annotations[v1alpha1.AppliedDigestAnnotation] != release.Digest && last.Digest != release.Digest {
		return nil
	}
	var wanted v1alpha1.BatchRelease
	data, err := json.Marshal(release.Object().Object)
	if err != nil || json.Unmarshal(data, &wanted) != nil {
		return nil
	}
	given, there := wanted.Spec.DeepCopy(), live.Spec.DeepCopy()
	given.Template, there.Template = nil, nil
	fields := lacking("spec", toValue(given), toValue(there))
	if !hasTemplate(live, release) {
		fields = append(fields, "spec.template")
	}
	return fields
}

// lacking names the fields of part that whole has otherwise.
func lacking(path string, part, whole any) []string {
	object, isObject := part.(map[string]any)
	other, _ := whole.(map[string]any)
	if !isObject || other == nil {
		if subset.Of(part, whole) {
			return nil
		}
		return []string{path}
	}
	var fields []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		fields = append(fields, lacking(path+"."+key, object[key], other[key])...)
	}
	return fields
}
