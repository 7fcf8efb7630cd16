package spec

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// restProblems returns the problems of a release besides fields that are unknown or of a wrong
// type, so that all are reported at once. It suppresses problems that only follow from such a
// field.
func restProblems(data []byte, told []pathProblem) []pathProblem {
	rest := decode(data)
	var faults [][]string
	for _, problem := range told {
		fault := stepsOf(problem.path)
		faults = append(faults, fault)
		rest = without(rest, fault)
	}
	cleaned, err := json.Marshal(rest)
	var release v1alpha1.BatchRelease
	if err != nil || json.Unmarshal(cleaned, &release) != nil {
		return nil
	}
	object, _ := rest.(map[string]any)
	checked, _ := withAnySteps(release)
	problems := validateRelease(&checked, object)
	if release.Spec.Template != nil {
		problems = append(problems, new(manifest).setTemplate(release.Spec.Template.Raw, field.NewPath("spec", "template"))...)
	}
	return slices.DeleteFunc(problems, func(p pathProblem) bool { return followsFrom(stepsOf(p.path), faults, rest) })
}

// followsFrom reports whether a problem may exist only because of one of the faults: it is in or at
// the fault, at the object that has the faulty field, or about a field that this object lacks, and
// of which the fault may be a misspelling.
func followsFrom(path []string, faults [][]string, rest any) bool {
	return slices.ContainsFunc(faults, func(fault []string) bool {
		parent := fault[:max(0, len(fault)-1)]
		return begins(path, fault) || slices.Equal(path, parent) || slices.Equal(path[:depth(rest, path)], parent) || goTogether(path, fault)
	})
}

// goTogether reports whether a path and a fault are the two sides of the traffic of a release:
// routes need steps that share requests, and such steps need routes.
func goTogether(path, fault []string) bool {
	steps, traffic := []string{"spec", "strategy", "steps"}, []string{"spec", "strategy", "traffic"}
	if begins(fault, steps) {
		return slices.Equal(path, traffic)
	}
	return begins(fault, traffic) && begins(path, steps) && slices.Contains([]string{"traffic", "matches"}, path[len(path)-1])
}

func begins(path, with []string) bool {
	return len(path) >= len(with) && slices.Equal(path[:len(with)], with)
}

var pathStep = regexp.MustCompile(`\[([^\]]*)\]|([^.\[\]]+)`)

// stepsOf returns the names, keys and numbers of a path such as spec.steps[1].replicas or
// metadata.labels[a.b/c].
func stepsOf(path string) []string {
	var steps []string
	for _, match := range pathStep.FindAllStringSubmatch(path, -1) {
		steps = append(steps, match[1]+match[2])
	}
	return steps
}

// depth returns how many steps of a path there are in a value, all of them only if it has what the
// path leads to.
func depth(value any, path []string) int {
	for i, step := range path {
		switch inner := value.(type) {
		case map[string]any:
			next, found := inner[step]
			if !found {
				return i
			}
			value = next
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(inner) {
				return i
			}
			value = inner[n]
		default:
			return i
		}
	}
	return len(path)
}

// without returns the value without the field at a path. An item of a list becomes an empty one:
// the others keep their numbers.
func without(value any, path []string) any {
	if len(path) == 0 {
		return nil
	}
	switch inner := value.(type) {
	case map[string]any:
		if _, found := inner[path[0]]; found && len(path) == 1 {
			delete(inner, path[0])
		} else if found {
			inner[path[0]] = without(inner[path[0]], path[1:])
		}
	case []any:
		if n, err := strconv.Atoi(path[0]); err == nil && n >= 0 && n < len(inner) {
			inner[n] = without(inner[n], path[1:])
		}
	}
	return value
}
