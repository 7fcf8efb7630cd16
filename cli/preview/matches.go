package preview

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// matchChanges names the matches that steps get or lose, and with kept those that they keep.
func matchChanges(from, to []v1alpha1.Step, kept bool) []string {
	var lines []string
	for i := range max(len(from), len(to)) {
		before, after := matchesOf(from, i), matchesOf(to, i)
		for _, match := range after {
			switch {
			case !has(before, match):
				lines = append(lines, fmt.Sprintf("match added to batch %d: %s", i+1, match.Words()))
			case kept:
				lines = append(lines, fmt.Sprintf("match of batch %d: %s", i+1, match.Words()))
			}
		}
		for _, match := range before {
			if !has(after, match) {
				lines = append(lines, fmt.Sprintf("match removed from batch %d: %s", i+1, match.Words()))
			}
		}
	}
	return lines
}

// matchesOf returns those of a step; none if there is no such step.
func matchesOf(steps []v1alpha1.Step, index int) []v1alpha1.RequestMatch {
	if index >= len(steps) {
		return nil
	}
	return steps[index].Matches
}

func has(matches []v1alpha1.RequestMatch, match v1alpha1.RequestMatch) bool {
	return slices.ContainsFunc(matches, func(m v1alpha1.RequestMatch) bool { return equality.Semantic.DeepEqual(m, match) })
}
