package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/gitsync/spec"
)

// maxValueLines limits the lines of a value that are shown as removed, and as added.
const maxValueLines = 10

// changedConfig says what differs in the ConfigMaps and Secrets that two releases have in
// spec.config: the keys and, of ConfigMaps, the lines of their values.
func changedConfig(was, is *spec.Release) []string {
	before, after := copiesOf(was), copiesOf(is)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(merged(before, after))) {
		switch old, now := before[name], after[name]; {
		case old == nil:
			lines = append(lines, name+": is released with the template from now on")
		case now == nil:
			lines = append(lines, name+": is no longer released with the template")
		case old.Name != now.Name:
			lines = append(lines, changedKeys(name, old, now)...)
		}
	}
	return lines
}

// copiesOf returns the copies of a release by what they are of, such as ConfigMap web.
func copiesOf(release *spec.Release) map[string]*spec.Copy {
	copies := map[string]*spec.Copy{}
	for _, c := range release.Copies {
		copies[c.Kind+" "+c.Of] = c
	}
	return copies
}

func merged[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// changedKeys says which keys differ, without the values of a Secret.
func changedKeys(name string, old, now *spec.Copy) []string {
	before, after := valuesOf(old), valuesOf(now)
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(merged(before, after))) {
		was, had := before[key]
		is, has := after[key]
		at := name + ": " + key
		switch {
		case had && has && was == is:
			continue
		case !had:
			at += " is added"
		case !has:
			at += " is removed"
		default:
			at += " differs"
		}
		lines = append(lines, at)
		if old.Kind == "ConfigMap" && !isBinary(old, key) && !isBinary(now, key) {
			lines = append(lines, changedLines(was, is)...)
		}
	}
	if lines == nil {
		lines = []string{name + ": its type differs"}
	}
	return lines
}

// valuesOf returns the values by key, as the copy has them.
func valuesOf(c *spec.Copy) map[string]string {
	object, values := c.Object().Object, map[string]string{}
	for _, field := range []string{"data", "binaryData"} {
		found, _, _ := unstructured.NestedStringMap(object, field) // it was just made
		maps.Copy(values, found)
	}
	return values
}

func isBinary(c *spec.Copy, key string) bool {
	_, is, _ := unstructured.NestedString(c.Object().Object, "binaryData", key)
	return is
}

// changedLines returns the lines between the first and the last that differ.
func changedLines(was, is string) []string {
	old, now := linesOf(was), linesOf(is)
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	return append(marked("- ", old), marked("+ ", now)...)
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func marked(mark string, lines []string) []string {
	var all []string
	for _, line := range lines[:min(len(lines), maxValueLines)] {
		all = append(all, mark+line)
	}
	if more := len(lines) - maxValueLines; more > 0 {
		all = append(all, fmt.Sprintf("%s(%d more)", mark, more))
	}
	return all
}
