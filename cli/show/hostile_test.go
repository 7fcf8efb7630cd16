package show

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// evil steers a terminal by a status: an escape, a link, a line of its own, letters from right to
// left, and C1 controls.
const evil = "hear \x1b[2J\x1b]8;;https://evil.test\x07link\n::error::forged \u202e\u009b2J \u2066x\u2069 "

// filling holds the values for all fields of an object.
type filling struct {
	text    string
	number  int64
	entries int
	time    time.Time
}

// fill sets what there is below a value, but for what the API server itself checks of an object's
// metadata.
func (f filling) fill(v reflect.Value) {
	if !v.CanSet() { // within a type that has a form of its own, such as a quantity
		return
	}
	switch value := v.Addr().Interface().(type) {
	case *metav1.ObjectMeta, *metav1.TypeMeta:
		return
	case *metav1.Time:
		value.Time = f.time
		return
	case *metav1.Duration:
		value.Duration = time.Duration(f.number)
		return
	case *intstr.IntOrString:
		*value = intstr.FromInt32(int32(max(min(f.number, math.MaxInt32), math.MinInt32)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text)
	case reflect.Int32, reflect.Int64:
		v.SetInt(f.number)
		if v.Int() != f.number {
			v.SetInt(max(min(f.number, math.MaxInt32), math.MinInt32))
		}
	case reflect.Bool:
		v.SetBool(f.number > 0)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			f.fill(field)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), f.entries, f.entries))
		for i := range f.entries {
			f.fill(v.Index(i))
		}
	default: // a map, which only metadata has
	}
}

// fillings are hostile in different ways.
var fillings = map[string]filling{
	"Escapes":  {text: evil, number: math.MaxInt64, entries: 2, time: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	"Long":     {text: strings.Repeat(evil, 300), number: math.MinInt64, entries: 1},
	"OneWord":  {text: strings.Repeat("x", 30<<10), number: -1, entries: 1, time: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)},
	"Numerous": {text: "\u202e" + evil, number: 1, entries: 3},
}

// hostile returns a release with what belongs to it, of which all that people of the namespace may
// have written is hostile.
func hostile(f filling, phase v1alpha1.Phase) *Whole {
	w := shop()
	release := w.Release
	f.fill(reflect.ValueOf(&release.Status).Elem())
	release.Spec.Strategy.Traffic = &v1alpha1.Traffic{KeepOldPods: true, OldPodsDelaySeconds: math.MaxInt32}
	for key := range release.Annotations {
		release.Annotations[key] = f.text
	}
	s := &release.Status
	s.Phase, s.ObservedGeneration, s.UpdateRevision, s.CurrentStepIndex = phase, math.MaxInt64, "new", 1
	s.Traffic.PendingParents = make([]string, mostObject/len(f.text))
	for i := range s.Traffic.PendingParents {
		s.Traffic.PendingParents[i] = f.text
	}
	for i := range w.Gates {
		f.fill(reflect.ValueOf(&w.Gates[i].Status).Elem())
		w.Gates[i].Spec.Attempt = s.Attempt
	}
	for i := range w.Pods {
		f.fill(reflect.ValueOf(&w.Pods[i].Status).Elem())
	}
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	f.fill(reflect.ValueOf(&source.Status).Elem())
	for i := range source.Status.Conditions {
		source.Status.Conditions[i].Type, source.Status.Conditions[i].Status = v1alpha1.ConditionReady, metav1.ConditionFalse
	}
	w.Source = source
	return w
}

// mostObject is how many bytes of a list are tried.
const mostObject = 100 << 10

// mostLine is more than any line needs.
const mostLine = 3000

// TestHostileStatus: texts of a status, of any number and length, are lines of a bounded length,
// and every number has words.
func TestHostileStatus(t *testing.T) {
	t.Parallel()
	for name, f := range fillings {
		for _, phase := range []v1alpha1.Phase{v1alpha1.PhaseRollingUpdate, v1alpha1.PhaseCompleted, v1alpha1.PhaseFailed, v1alpha1.Phase(f.text)} {
			w := hostile(f, phase)
			tree := Tree(w)
			lines := append(Draw(tree, noon, false), Changes(nil, tree)...)
			lines = append(lines, Progress(w.Release))
			calm := Tree(shop())
			lines = append(lines, Changes(&calm, tree)...)
			wantPlain(t, name, lines)
		}
	}
}

// TestHostileRows: a table has a row for each release, and one of them does not make the rows of
// others as wide as it likes.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	for name, f := range fillings {
		releases := []v1alpha1.BatchRelease{*hostile(f, v1alpha1.PhaseRollingUpdate).Release}
		for range 50 {
			releases = append(releases, *shop().Release)
		}
		kept := make([]appsv1.ControllerRevision, 50)
		for i := range kept {
			kept[i].Annotations = map[string]string{v1alpha1.OutcomeAnnotation: f.text, v1alpha1.SubjectAnnotation: f.text, v1alpha1.ReleasedAtAnnotation: f.text}
		}
		for what, table := range map[string]*metav1.Table{
			"releases": Releases(releases, nil, noon, false), "history": History(&releases[0], kept, noon),
		} {
			var out bytes.Buffer
			if err := printers.NewTablePrinter(printers.PrintOptions{Wide: true}).PrintObj(table, &out); err != nil {
				t.Fatal(err)
			}
			if out.Len() > 1<<20 {
				t.Errorf("%s: %s: want tables of a bounded size, got %d bytes", name, what, out.Len())
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if want := len(table.Rows) + 1; len(lines) != want {
				t.Errorf("%s: %s: want %d lines, got %d", name, what, want, len(lines))
			}
		}
		wantPlain(t, name, Kept(&kept[0]))
	}
}

// wantPlain wants lines that steer nothing, and of which none is longer than people read.
func wantPlain(t *testing.T, name string, lines []string) {
	t.Helper()
	for _, line := range lines {
		if at := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); at >= 0 {
			t.Errorf("%s: %q steers the terminal", name, line[:min(at+20, len(line))])
		}
		if len(line) > mostLine {
			t.Errorf("%s: want no line of %d bytes: %.80q", name, len(line), line)
		}
	}
}
