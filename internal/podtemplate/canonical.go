package podtemplate

import (
	"math"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Canonical returns a template in one way of writing: templates that apiequality.Semantic takes for
// the same have the same JSON. Times need nothing: their JSON is in UTC.
func Canonical(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	canonical := template.DeepCopy()
	settle(reflect.ValueOf(canonical).Elem())
	return canonical
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// settle makes empty lists and maps nil, and writes quantities in one way, in all that a value
// holds.
func settle(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			settle(v.Elem())
		}
	case reflect.Struct:
		settleStruct(v)
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			settle(v.Index(i))
		}
	case reflect.Map:
		settleMap(v)
	default: // there is one way to write it
	}
}

func settleStruct(v reflect.Value) {
	if v.Type() == quantityType {
		v.Set(reflect.ValueOf(shortest(v.Interface().(resource.Quantity))))
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			settle(v.Field(i))
		}
	}
}

func settleMap(v reflect.Value) {
	if v.Len() == 0 {
		v.SetZero()
		return
	}
	if v.Type().Elem().Kind() == reflect.String {
		return
	}
	for _, key := range v.MapKeys() {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		settle(value)
		v.SetMapIndex(key, value)
	}
}

// shortest returns a quantity in the shorter of its decimal and its binary notation, which is how
// people mostly write it: 1Gi, 500m, 1G. All amounts above 1e40 are one amount: to write the digits
// of 1e1000000 takes half a minute.
func shortest(q resource.Quantity) resource.Quantity {
	switch size := q.AsApproximateFloat64(); {
	case q.IsZero():
		return resource.MustParse("0")
	case math.Abs(size) > 1e40:
		return *resource.NewQuantity(int64(math.Copysign(math.MaxInt64, size)), resource.DecimalSI)
	}
	amount := q.DeepCopy()
	decimal := resource.NewDecimalQuantity(*amount.AsDec(), resource.DecimalSI).String()
	binary := resource.NewDecimalQuantity(*amount.AsDec(), resource.BinarySI).String()
	if len(binary) < len(decimal) {
		return resource.MustParse(binary)
	}
	return resource.MustParse(decimal)
}
