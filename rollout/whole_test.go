package rollout

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

const ofTomorrow = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"7","generation":3},
	"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
	"spec":{"fieldOfTomorrow":{"a":1},"containers":[{"name":"web","image":"web:1","another":["x"]}]}}}}`

// seen returns a view of a Deployment that was read live.
func seen(t *testing.T, text string) *view {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	v := &view{process: newProcess(clock.RealClock{}), release: &v1alpha1.BatchRelease{}}
	if err := v.sawWhole(object); err != nil {
		t.Fatal(err)
	}
	return v
}

// unknownIn returns the parts of a template in fields that our types lack.
func unknownIn(t *testing.T, template any) string {
	t.Helper()
	raw, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := podtemplate.Unknown(raw)
	if err != nil {
		t.Fatal(err)
	}
	return unknown
}

// TestFieldsOfTomorrowAreCopied: Fields that are newer than our types stay in the ReplicaSet,
// without which the native controller would take it for one of another template, and in what is
// kept to roll back to.
func TestFieldsOfTomorrowAreCopied(t *testing.T) {
	t.Parallel()
	const want = `{"spec":{"containers":{"0":{"another":["x"]}},"fieldOfTomorrow":{"a":1}}}`
	v := seen(t, ofTomorrow)
	set, err := newSet(v, v.workload.(*deployment.Object), "abc", 1)
	if err != nil {
		t.Fatal(err)
	}
	template, err := hold.TemplateIn(set)
	if err != nil {
		t.Fatal(err)
	}
	if unknown := unknownIn(t, template); unknown != want {
		t.Errorf("the new ReplicaSet has %s of these fields, want %s", unknown, want)
	}
	if labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels"); labels["pod-template-hash"] != "abc" || labels["app"] != "web" {
		t.Errorf("the pods' labels are %v, want the Deployment's and the hash", labels)
	}
	if unknown := unknownIn(t, newRevision(v, plan.RecordRevision{Revision: "abc"}, v.wholeTemplate()).Data); unknown != want {
		t.Errorf("what is kept has %s of these fields, want %s", unknown, want)
	}
}

// TestWholeTemplateIsThatOfTheGeneration: the template of a generation that is gone is not taken
// for that of the one that is there, nor for that of another workload of the name. A version with
// another status has the same template.
func TestWholeTemplateIsThatOfTheGeneration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(workload.Workload)
		same   bool
	}{
		"another status":     {func(w workload.Workload) { w.SetResourceVersion("8") }, true},
		"another generation": {func(w workload.Workload) { w.SetResourceVersion("8"); w.SetGeneration(4) }, false},
		"another workload":   {func(w workload.Workload) { w.SetUID("another") }, false},
	} {
		v := seen(t, ofTomorrow)
		test.change(v.workload)
		if template := v.wholeTemplate(); (template != nil) != test.same {
			t.Errorf("%s: the template that was seen is %q", name, template)
		}
	}
}

func TestAChangeThatWouldBeOverlookedIsTold(t *testing.T) {
	t.Parallel()
	present := seen(t, ofTomorrow).wholeTemplate()
	changed := []byte(strings.Replace(string(present), `{"a":1}`, `{"a":2}`, 1))
	why, err := overlooks(changed, present)
	if err != nil || !strings.Contains(why, `{"a":2}`) || !strings.Contains(why, `{"a":1}`) {
		t.Errorf("overlooks = %q, %v, want what the field is and was", why, err)
	}
	if why, err := overlooks(present, present); why != "" || err != nil {
		t.Errorf("overlooks = %q, %v, want nothing: it is the same", why, err)
	}
}

// TestWholeTemplateIsKeptForItsGenerationOnly: the whole template, and who wrote which field, would
// stay in memory for each release.
func TestWholeTemplateIsKeptForItsGenerationOnly(t *testing.T) {
	t.Parallel()
	v := seen(t, strings.Replace(ofTomorrow, `"uid":"u"`, `"uid":"u","managedFields":[
		{"manager":"kubectl","operation":"Update","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]`, 1))
	if entry := v.workload.GetManagedFields()[0]; entry.Manager != "kubectl" || entry.Time == nil || entry.FieldsV1 != nil {
		t.Errorf("managed fields = %v, want who wrote and when, and not what", entry)
	}
	if v.process.whole = v.process.whole.of(v.workload); len(v.wholeTemplate()) == 0 {
		t.Error("the whole template is not known, want that of the version that was read: another read is a request")
	}
	v.workload.SetGeneration(4)
	if v.process.whole = v.process.whole.of(v.workload); v.process.whole.raw != nil {
		t.Errorf("whole template = %s, want none: it is of a generation that is gone", v.process.whole.raw)
	}
}
