package podtemplate

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Canonical is a template written so that those that are the same to apiequality.Semantic have the same
// JSON. Times need nothing: their JSON is in UTC.
func Canonical(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	canonical, _ := settled(template)
	return canonical
}

// settled is Canonical, and reports whether anything is written otherwise than in the template.
func settled(template *corev1.PodTemplateSpec) (*corev1.PodTemplateSpec, bool) {
	canonical := template.DeepCopy()
	changed := settle(reflect.ValueOf(canonical).Elem())
	return canonical, changed
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// settle makes empty lists and maps nil, and writes quantities in one way, in all that a value holds. It reports whether it
// changed anything.
func settle(v reflect.Value) bool {
	changed := false
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && settle(v.Elem())
	case reflect.Struct:
		return settleStruct(v)
	case reflect.Slice:
		if v.Len() == 0 {
			return makeNil(v)
		}
		for i := range v.Len() {
			changed = settle(v.Index(i)) || changed
		}
	case reflect.Map:
		return settleMap(v)
	default: // nothing but one way to write it
	}
	return changed
}

// makeNil makes an empty list or map nil, and reports whether it was not.
func makeNil(v reflect.Value) bool {
	changed := !v.IsNil()
	v.SetZero()
	return changed
}

func settleStruct(v reflect.Value) bool {
	if v.Type() == quantityType {
		amount := v.Interface().(resource.Quantity)
		short := shortest(amount)
		v.Set(reflect.ValueOf(short))
		return short.String() != amount.String()
	}
	changed := false
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			changed = settle(v.Field(i)) || changed
		}
	}
	return changed
}

func settleMap(v reflect.Value) bool {
	if v.Len() == 0 {
		return makeNil(v)
	}
	if kind := v.Type().Elem().Kind(); kind == reflect.String {
		return false
	}
	changed := false
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		changed = settle(value) || changed
		v.SetMapIndex(key, value)
	}
	return changed
}

// shortest is a quantity in the shorter of its decimal and its binary notation, which is how people mostly write
// it: 1Gi, 500m, 1G.
func shortest(q resource.Quantity) resource.Quantity {
	amount := q.DeepCopy()
	decimal := resource.NewDecimalQuantity(*amount.AsDec(), resource.DecimalSI).String()
	binary := resource.NewDecimalQuantity(*amount.AsDec(), resource.BinarySI).String()
	if len(binary) < len(decimal) {
		return resource.MustParse(binary)
	}
	return resource.MustParse(decimal)
}
