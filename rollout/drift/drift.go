// Package drift finds the fields in which a pod template differs from the released one, without
// values that may be secret; pure.
//
// Both templates have the API server's defaults. What can hold a secret, the values of environment
// variables, arguments and annotations for example, is named by its path and never printed.
package drift

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// restartedAt is what kubectl rollout restart writes into a template. The pods are other ones
// then, and run what was released all the same.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// most is how many fields are named.
const most = 5

// Fields returns the paths of at most 5 fields that differ in present, as in a Deployment, and the
// number of further ones. It ignores the annotation of a restart.
func Fields(released, present *corev1.PodTemplateSpec) ([]string, error) {
	found, err := All(released, present)
	if beyond := len(found) - most; beyond > 0 {
		return append(slices.Clip(found[:most]), fmt.Sprintf("%d more", beyond)), err
	}
	return found, err
}

// All returns Fields without a limit.
func All(released, present *corev1.PodTemplateSpec) ([]string, error) {
	before, err := tree(released)
	if err != nil {
		return nil, err
	}
	after, err := tree(present)
	if err != nil {
		return nil, err
	}
	var found differences
	found.compare(at("spec", "template"), before, after)
	return found, nil
}

// tree returns the template as JSON has it, except what does not count.
func tree(template *corev1.PodTemplateSpec) (any, error) {
	counted := podtemplate.Canonical(template)
	delete(counted.Annotations, restartedAt)
	data, err := json.Marshal(counted)
	if err != nil {
		return nil, fmt.Errorf("encode pod template: %w", err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, fmt.Errorf("decode pod template: %w", err)
	}
	return value, nil
}

// differences are the fields found so far, in the order of their paths.
type differences []string

func (d *differences) compare(at path, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	if was, is, ok := both[map[string]any](before, after); ok {
		d.compareObjects(at, was, is)
		return
	}
	if was, is, ok := both[[]any](before, after); ok {
		d.compareLists(at, was, is)
		return
	}
	*d = append(*d, at.String()+change(at, before, after))
}

func both[T any](a, b any) (first, second T, ok bool) {
	first, isFirst := a.(T)
	second, isSecond := b.(T)
	return first, second, isFirst && isSecond
}

func (d *differences) compareObjects(at path, before, after map[string]any) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		d.compare(at.field(key), before[key], after[key])
	}
}

// compareLists compares the items of the same name. Where they have none the lists as a whole
// differ.
func (d *differences) compareLists(at path, before, after []any) {
	was, is := byName(before), byName(after)
	if was == nil || is == nil {
		*d = append(*d, at.String())
		return
	}
	found := len(*d)
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d.compare(at.item(name), was[name], is[name])
	}
	if len(*d) == found {
		*d = append(*d, at.String()+" (order)")
	}
}

// names are the fields by which items of the lists in a template are told apart.
var names = []string{"name", "mountPath", "devicePath", "containerPort", "ip"}

// byName returns the items by what tells them apart, nil if nothing does.
func byName(list []any) map[string]any {
	for _, name := range names {
		items := map[string]any{}
		for _, item := range list {
			if object, is := item.(map[string]any); is && object[name] != nil {
				items[fmt.Sprint(object[name])] = item
			}
		}
		if len(items) == len(list) {
			return items
		}
	}
	return nil
}

// change says how a field has changed, with the values where everybody may see them.
func change(at path, before, after any) string {
	switch {
	case before == nil:
		return " (added)"
	case after == nil:
		return " (removed)"
	case at.open() || !isText(before) && !isText(after):
		return fmt.Sprintf(": %s -> %s", text(before), text(after))
	default:
		return ""
	}
}

// isText tells the values that may hold secrets from numbers and switches, which don't.
func isText(value any) bool {
	switch value.(type) {
	case bool, float64:
		return false
	}
	return true
}

// longest is how much of a value is shown.
const longest = 120

func text(value any) string {
	all := []rune(fmt.Sprint(value))
	if len(all) > longest {
		return string(all[:longest]) + "..."
	}
	return string(all)
}
