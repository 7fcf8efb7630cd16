package plan

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// freezes returns the writes that set the freeze of the repository on the releases that it covers,
// also on releases with an invalid file, and remove it from the others.
func freezes(desired Desired, observed Observed, remembered Remembered) []Write {
	given := labelsInGit(desired)
	var writes []Write
	for _, key := range sorted(observed.Releases) {
		live := observed.Releases[key]
		labels, found := given[key]
		if !found {
			labels = live.Labels
		}
		wanted := freezeOf(desired, key.Namespace, labels, live)
		set := SetFreeze{Release: live, Text: wanted}
		_, sent := remembered.Sent[set.Sent()]
		if Ours(desired.Source, live) && !sent && !frozenAs(live, wanted) {
			writes = append(writes, set)
		}
	}
	return writes
}

// frozenAs reports whether a release has the wanted freeze from Git, or none from Git if none is
// wanted.
func frozenAs(live *v1alpha1.BatchRelease, wanted string) bool {
	if wanted == "" {
		return gitFreeze(live) == nil
	}
	return live.Annotations[v1alpha1.FreezeAnnotation] == wanted
}

// labelsInGit returns those that a freeze selects releases by; nil if there is none.
func labelsInGit(desired Desired) map[Key]map[string]string {
	if desired.Freeze == nil {
		return nil
	}
	given := map[Key]map[string]string{}
	for _, release := range desired.Content.Releases {
		given[KeyOf(release)] = release.Object().GetLabels()
	}
	return given
}

// freezeOf returns the annotation that a release is to have, empty if none. One that says the same
// stays as it is, with the commit that brought it.
func freezeOf(desired Desired, namespace string, labels map[string]string, live *v1alpha1.BatchRelease) string {
	freeze := desired.Freeze
	if !freeze.Covers(namespace, labels) {
		return ""
	}
	value := v1alpha1.Freeze{Reason: freeze.Reason, Until: freeze.Until, Commit: desired.Origin.Commit}
	if live != nil {
		have := gitFreeze(live)
		if have != nil && have.Reason == value.Reason && have.Until.Equal(value.Until) {
			return live.Annotations[v1alpha1.FreezeAnnotation]
		}
	}
	text, _ := json.Marshal(value) // the type has nothing that JSON can't hold
	return string(text)
}

// gitFreeze returns the freeze of a release that comes from Git; nil if it has none, or a person's.
func gitFreeze(release *v1alpha1.BatchRelease) *v1alpha1.Freeze {
	var freeze v1alpha1.Freeze
	text := release.Annotations[v1alpha1.FreezeAnnotation]
	if json.Unmarshal([]byte(text), &freeze) != nil || freeze.Commit == "" {
		return nil
	}
	return &freeze
}

// frozenNow reports whether a workload is not created yet: that would be a release, too.
func frozenNow(desired Desired, observed Observed, release *spec.Release) bool {
	freeze := desired.Freeze
	return freeze.Covers(release.Namespace, release.Object().GetLabels()) &&
		(freeze.Until == nil || observed.Now.Before(freeze.Until.Time))
}

func sorted[V any](by map[Key]V) []Key { return slices.SortedFunc(maps.Keys(by), compareKeys) }

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
