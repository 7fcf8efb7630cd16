package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// validateOrder has each key name one thing to order by.
func validateOrder(keys []v1alpha1.OrderKey, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for i, key := range keys {
		at := path.Index(i)
		if given := given(key); given != 1 {
			problems = append(problems, field.Invalid(at, given, "must have exactly one of nodeLabel, deletePriority, age, name"))
		}
		problems = append(problems, validateWord(key.Age, at.Child("age"), v1alpha1.OldestFirst, v1alpha1.NewestFirst)...)
		problems = append(problems, validateWord(key.Name, at.Child("name"), v1alpha1.Ascending, v1alpha1.Descending)...)
	}
	return problems
}

// given counts what a key names.
func given(key v1alpha1.OrderKey) int {
	n := 0
	for _, is := range []bool{key.NodeLabel != nil, key.DeletePriority != nil, key.Age != "", key.Name != ""} {
		if is {
			n++
		}
	}
	return n
}

// validateWord has a word be left out, or one of those that are known.
func validateWord[T ~string](word T, path *field.Path, known ...T) field.ErrorList {
	if word == "" || slices.Contains(known, word) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, word, known)}
}
