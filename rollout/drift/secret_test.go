package drift

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

// treacherous are names that users may choose and that look like a way to a field that is shown.
var treacherous = []string{
	"app.resources.password", "x.resources.y/token", "image", "resources", "a.image", "resources.limits.cpu", "a.resources.b",
	"spec.template.spec.containers[app].image", "].image", "[app].resources.limits", "restartPolicy", "requests", "protocol", "*",
}

// TestNamesThatLookLikeFields: a user's name is not taken for a field, and its value is not shown.
func TestNamesThatLookLikeFields(t *testing.T) {
	t.Parallel()
	with := func(name, value string) *corev1.PodTemplateSpec {
		p := released()
		p.Annotations, p.Labels = map[string]string{name: value}, map[string]string{name: value}
		p.Spec.NodeSelector = map[string]string{name: value}
		c := &p.Spec.Containers[0]
		c.Env = []corev1.EnvVar{{Name: name, Value: value}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "a", MountPath: name, SubPath: value}}
		p.Spec.Volumes = []corev1.Volume{{Name: "a", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
			Driver: "a", VolumeAttributes: map[string]string{name: value},
		}}}}
		return p
	}
	for _, name := range treacherous {
		found, err := All(with(name, secret+"-old"), with(name, secret+"-new"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 6 {
			t.Errorf("%s: want 6 fields that differ, got %q", name, found)
		}
		if said := strings.Join(found, "\n"); strings.Contains(said, secret) {
			t.Errorf("%s: a secret is shown:\n%s", name, said)
		}
	}
}

// mayBeShown are the ways to texts that everybody may see, in a second copy.
var mayBeShown = regexp.MustCompile(`^spec\.template\.spec\.(` +
	`(restartPolicy|serviceAccountName|priorityClassName|runtimeClassName|schedulerName|dnsPolicy)` +
	`|(containers|initContainers)\[name\]\.(image|imagePullPolicy|restartPolicy|ports\[name\]\.protocol)): `)

// TestOnlyWhatMayBeShown: with another text in every field of a pod template that holds one, those
// are shown that are listed, and no other.
func TestOnlyWhatMayBeShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var before, after corev1.PodTemplateSpec
		key := rapid.SampledFrom(treacherous).Draw(t, "key")
		(&filler{key: key, text: secret + "-old", number: 1}).fill(reflect.ValueOf(&before).Elem())
		(&filler{key: key, text: secret + "-new", number: 2}).fill(reflect.ValueOf(&after).Elem())
		found, err := All(&before, &after)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, line := range found {
			if !strings.Contains(line, secret) {
				continue
			}
			if shown++; !mayBeShown.MatchString(line) {
				t.Errorf("shown: %s", line)
			}
		}
		if len(found) < 200 || shown < 10 {
			t.Errorf("want a difference in every field, and some shown; got %d and %d", len(found), shown)
		}
	})
}

// filler sets every field of a value: texts to its text, except those by which items are told
// apart.
type filler struct {
	key, text string
	number    int64
}

func (f *filler) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case resource.Quantity:
		v.Set(reflect.ValueOf(*resource.NewQuantity(f.number, resource.DecimalSI)))
		return
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromString(f.text)))
		return
	case metav1.Time, metav1.FieldsV1:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text)
	case reflect.Bool:
		v.SetBool(f.number == 1)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(f.number)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0))
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(f.key).Convert(v.Type().Key()), value)
	case reflect.Struct:
		for i := range v.NumField() {
			f.field(v.Type().Field(i), v.Field(i))
		}
	default:
	}
}

// identities are the fields by which items of a list are the same before and after.
var identities = map[string]string{"Name": "name", "MountPath": "/path", "DevicePath": "/device", "IP": "192.0.2.1"}

func (f *filler) field(field reflect.StructField, v reflect.Value) {
	name, is := identities[field.Name]
	switch {
	case !v.CanSet():
	case is && v.Kind() == reflect.String:
		v.SetString(name)
	case field.Name == "ContainerPort":
		v.SetInt(80)
	default:
		f.fill(v)
	}
}
