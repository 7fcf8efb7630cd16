package spec

import (
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// validateOrder checks the limits of the CRD; package plan checks the keys.
func validateOrder(keys []v1alpha1.OrderKey, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(keys) > maxKeys {
		errs = append(errs, field.TooMany(at, len(keys), maxKeys))
	}
	for i, key := range keys {
		if key.NodeLabel != nil {
			errs = append(errs, validateNodeLabel(key.NodeLabel, at.Index(i).Child("nodeLabel"))...)
		}
	}
	return errs
}

func validateNodeLabel(label *v1alpha1.NodeLabelOrder, at *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabelName(label.Key, at.Child("key"))
	if len(label.Values) > maxValues {
		errs = append(errs, field.TooMany(at.Child("values"), len(label.Values), maxValues))
	}
	for i, value := range label.Values {
		for _, reason := range validation.IsValidLabelValue(value) {
			errs = append(errs, field.Invalid(at.Child("values").Index(i), value, reason))
		}
	}
	return errs
}
