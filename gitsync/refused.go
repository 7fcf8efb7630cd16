package gitsync

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/gitsync/plan"
)

// refused returns the releases that are not as the commit has them, by name: the plan has a problem
// with one, a write of it is refused, or it is missing from a commit that has errors, and may be in
// a file that has one.
func refused(now plan.Plan, desired plan.Desired, observed plan.Observed, failures []failure) []plan.Key {
	var keys []plan.Key
	for _, problem := range now.Problems {
		keys = append(keys, problem.Of())
	}
	for _, failed := range failures {
		if !failed.unanswered() {
			keys = append(keys, failed.write.Of())
		}
	}
	if len(desired.Content.Errors) > 0 || len(now.Vanished) > 0 {
		keys = append(keys, plan.Missing(desired, observed)...)
	}
	slices.SortFunc(keys, func(a, b plan.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(keys)
}
