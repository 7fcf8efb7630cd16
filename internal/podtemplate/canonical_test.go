package podtemplate

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

func read(t *testing.T, text string) *corev1.PodTemplateSpec {
	t.Helper()
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal([]byte(text), &template); err != nil {
		t.Fatal(err)
	}
	return &template
}

func TestDigestTakesQuantitiesForWhatTheyAre(t *testing.T) {
	t.Parallel()
	with := func(memory string) *corev1.PodTemplateSpec {
		return read(t, `{"spec":{"containers":[{"name":"a","image":"b","resources":{"limits":{"memory":`+memory+`}}}]}}`)
	}
	for _, pair := range [][2]string{
		{`"1Gi"`, `"1073741824"`}, {`"1Gi"`, `1073741824`}, {`"1000Mi"`, `1048576000`}, {`"1G"`, `"1e9"`}, {`"512Mi"`, `"0.5Gi"`},
		{`"1.5"`, `"1500m"`}, {`"0"`, `"0Gi"`}, {`"1024"`, `"1Ki"`}, {`"1000"`, `"1k"`},
	} {
		if a, b := digestOf(t, with(pair[0])), digestOf(t, with(pair[1])); a != b {
			t.Errorf("%s and %s have different digests, want one: the native controller takes them for the same", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{`"1Gi"`, `"1G"`}, {`"1"`, `"1m"`}, {`"1073741824"`, `"1073741825"`}} {
		if a, b := digestOf(t, with(pair[0])), digestOf(t, with(pair[1])); a == b {
			t.Errorf("%s and %s have one digest, want two", pair[0], pair[1])
		}
	}
}

// TestDigestOfLargeAmounts: an amount with a large exponent does not hold up other templates. With
// all its digits written, the test would end at the time limit.
func TestDigestOfLargeAmounts(t *testing.T) {
	t.Parallel()
	for _, memory := range []string{"1e1000", "1e1000000000", "-1e1000000000", "0e1000000000", "123456789012345678901e100000"} {
		digestOf(t, read(t, `{"spec":{"containers":[{"name":"a","resources":{"limits":{"memory":"`+memory+`"}}}]}}`))
	}
}

func TestDigestLeavesTheTemplateAlone(t *testing.T) {
	t.Parallel()
	template := read(t, `{"spec":{"nodeSelector":{},"containers":[{"name":"a","resources":{"limits":{"memory":"1073741824"}}}]}}`)
	before := template.DeepCopy()
	digestOf(t, template)
	if !reflect.DeepEqual(before, template) {
		t.Errorf("Digest changes its template from %v to %v", before, template)
	}
}

// TestDigestIsWhatIsTheSameNatively holds the digests of two templates, drawn at random and one of
// them written otherwise or changed, against the comparison of the native controller.
func TestDigestIsWhatIsTheSameNatively(t *testing.T) {
	t.Parallel()
	seen := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		var a corev1.PodTemplateSpec
		drawValue(t, reflect.ValueOf(&a).Elem(), 0)
		b := a.DeepCopy()
		changes := rapid.IntRange(0, 1).Draw(t, "changes")
		rewrite(t, reflect.ValueOf(b).Elem(), &changes)
		if rapid.Bool().Draw(t, "labelled") {
			metav1.SetMetaDataLabel(&b.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, "5c66667f6")
		}
		first, err := Digest(&a)
		second, also := Digest(b)
		if err != nil || also != nil {
			t.Fatal(err, also)
		}
		same := equalIgnoreHash(&a, b)
		seen[same]++
		if (first == second) != same {
			t.Fatalf("the native controller takes them for the same: %t; the digests are: %t\n%+v\n%+v", same, first == second, a, b)
		}
	})
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("same and different templates: %v, want both to have come up", seen)
	}
}

// equalIgnoreHash compares as the native controller does.
func equalIgnoreHash(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(a, b)
}

// quantities are amounts, each in several ways to write it.
var quantities = [][]string{{"0", "0Gi", "0.0"}, {"1Gi", "1073741824", "1024Mi"}, {"1G", "1e9", "1000M"}, {"500m", "0.5"}, {"1025", "1025000m"}, {"-1", "-1000m"}}

// times are two moments, the first in two zones.
var times = []time.Time{time.Unix(1e9, 0).UTC(), time.Unix(1e9, 0).In(time.FixedZone("east", 3600)), time.Unix(1e9+1, 0).UTC()}

// drawSpecial draws a value of a type that is more than its fields.
func drawSpecial(t *rapid.T, v reflect.Value) bool {
	switch v.Interface().(type) {
	case resource.Quantity:
		ways := rapid.SampledFrom(quantities).Draw(t, "amount")
		v.Set(reflect.ValueOf(resource.MustParse(rapid.SampledFrom(ways).Draw(t, "way"))))
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.NewTime(rapid.SampledFrom(times).Draw(t, "time"))))
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(80), intstr.FromString("80")}).Draw(t, "port")))
	case metav1.FieldsV1: // nobody's but the API server's, and not compared by what it means
	default:
		return false
	}
	return true
}

// drawValue fills a value with little, so that much is empty, or like something else.
func drawValue(t *rapid.T, v reflect.Value, depth int) {
	if drawSpecial(t, v) {
		return
	}
	some := rapid.IntRange(0, depth).Draw(t, "some") <= 1
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			if rapid.IntRange(0, 2+depth).Draw(t, "field") == 0 || depth < 2 {
				drawValue(t, field, depth+1)
			}
		}
	case reflect.Pointer:
		if some {
			v.Set(reflect.New(v.Type().Elem()))
			drawValue(t, v.Elem(), depth+1)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "length")
		if some {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				drawValue(t, v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		drawMap(t, v, depth)
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int32, reflect.Int64:
		v.SetInt(rapid.Int64Range(0, 2).Draw(t, "number"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Uint8Range(0, 2).Draw(t, "byte")))
	default:
		t.Fatalf("a pod template has a %s", v.Type())
	}
}

func drawMap(t *rapid.T, v reflect.Value, depth int) {
	v.Set(reflect.MakeMap(v.Type()))
	for range rapid.IntRange(0, 2).Draw(t, "length") {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		drawValue(t, key, depth+1)
		drawValue(t, value, depth+1)
		v.SetMapIndex(key, value)
	}
}

// rewrite writes what it comes by in another way, and changes as much as its caller says.
func rewrite(t *rapid.T, v reflect.Value, changes *int) {
	if *changes > 0 && v.Kind() != reflect.Struct && rapid.IntRange(0, 5).Draw(t, "here") == 0 {
		*changes--
		drawValue(t, v, 1)
		return
	}
	if q, is := reflect.TypeAssert[resource.Quantity](v); is {
		v.Set(reflect.ValueOf(otherwise(t, q)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				rewrite(t, v.Field(i), changes)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			rewrite(t, v.Elem(), changes)
		}
	case reflect.Slice:
		if v.Len() == 0 && rapid.Bool().Draw(t, "empty") {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			rewrite(t, v.Index(i), changes)
		}
	case reflect.Map:
		rewriteMap(t, v, changes)
	default: // there is but one way to write it
	}
}

func rewriteMap(t *rapid.T, v reflect.Value, changes *int) {
	if v.Len() == 0 && rapid.Bool().Draw(t, "none") {
		v.SetZero()
		return
	}
	if v.Type().Elem() != reflect.TypeFor[resource.Quantity]() {
		return
	}
	for _, key := range []string{"", "a", "b"} {
		key := reflect.ValueOf(key).Convert(v.Type().Key())
		if value := v.MapIndex(key); value.IsValid() {
			held := reflect.New(v.Type().Elem()).Elem()
			held.Set(value)
			rewrite(t, held, changes)
			v.SetMapIndex(key, held)
		}
	}
}

// otherwise returns the same amount in one of the ways to write it.
func otherwise(t *rapid.T, q resource.Quantity) resource.Quantity {
	for _, ways := range quantities {
		if q.Cmp(resource.MustParse(ways[0])) == 0 {
			return resource.MustParse(rapid.SampledFrom(ways).Draw(t, "way"))
		}
	}
	return q
}
