package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// validateOrder has each key name one thing to order by.
func validateOrder(keys []v1alpha1.OrderKey, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for i, key := range keys {
		at := path.Index(i)
		given := 0
		for _, is := range []bool{key.NodeLabel != nil, key.DeletePriority != nil, key.Age != "", key.Name != ""} {
			if is {
				given++
			}
		}
		if given != 1 {
			problems = append(problems, field.Invalid(at, given, "must have exactly one of nodeLabel, deletePriority, age, name"))
		}
		if key.Age != "" && key.Age != v1alpha1.OldestFirst && key.Age != v1alpha1.NewestFirst {
			problems = append(problems, field.NotSupported(at.Child("age"), key.Age, []v1alpha1.AgeOrder{v1alpha1.OldestFirst, v1alpha1.NewestFirst}))
		}
		if key.Name != "" && key.Name != v1alpha1.Ascending && key.Name != v1alpha1.Descending {
			problems = append(problems, field.NotSupported(at.Child("name"), key.Name, []v1alpha1.NameOrder{v1alpha1.Ascending, v1alpha1.Descending}))
		}
	}
	return problems
}
