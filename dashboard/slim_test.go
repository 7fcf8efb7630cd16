package dashboard

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard/view"
)

// fat returns metadata as large as a tenant likes, with all that lists read.
func fat(owner metav1.OwnerReference) metav1.ObjectMeta {
	text := strings.Repeat("x", 1000)
	owner.Controller, owner.UID = new(true), "u"
	large := metav1.ObjectMeta{
		Namespace: "shop", Name: "pay", UID: "p", ResourceVersion: "7", OwnerReferences: []metav1.OwnerReference{owner},
		Labels:      map[string]string{v1alpha1.ReleaseLabel: "pay", v1alpha1.RevisionLabel: "abc"},
		Annotations: map[string]string{v1alpha1.AuthorAnnotation: "Ada", v1alpha1.SubjectAnnotation: strings.Repeat("\x80", 9<<10)}, // protobuf has any bytes
	}
	for i := range 1000 {
		key := fmt.Sprintf("example.com/large-%d", i)
		large.Labels[key], large.Annotations[key] = "x", text
		large.OwnerReferences = append(large.OwnerReferences, metav1.OwnerReference{Name: text})
		large.Finalizers = append(large.Finalizers, key)
		large.ManagedFields = append(large.ManagedFields, metav1.ManagedFieldsEntry{Manager: text})
	}
	return large
}

// TestLittleIsKeptOfEachObject: However large objects are that tenants make, and however many,
// little of each is kept for all viewers.
func TestLittleIsKeptOfEachObject(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"large":"` + strings.Repeat("x", 1<<20) + `"}`)
	own := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease", Name: "pay"}
	steps := make([]v1alpha1.Step, 50)
	for i := range steps {
		for range 8 {
			steps[i].Matches = append(steps[i].Matches, v1alpha1.RequestMatch{Headers: []v1alpha1.ValueMatch{{Name: "x", Value: strings.Repeat("x", 4096)}}})
		}
		for range 10 {
			steps[i].Gates = append(steps[i].Gates, v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}})
		}
	}
	large := v1alpha1.ReleaseStrategy{Steps: steps, Order: make([]v1alpha1.OrderKey, 1000)}
	for name, c := range map[string]struct {
		object client.Object
		most   int
	}{
		"strategy": {&v1alpha1.BatchRelease{ObjectMeta: fat(own), Spec: v1alpha1.BatchReleaseSpec{
			Strategy: large, Rollback: &v1alpha1.RollbackStrategy{Steps: slices.Clone(steps)},
		}}, 16 << 10},
		"release":     {&v1alpha1.BatchRelease{ObjectMeta: fat(own), Spec: v1alpha1.BatchReleaseSpec{Template: &runtime.RawExtension{Raw: raw}}}, 8 << 10},
		"source":      {&v1alpha1.ReleaseSource{ObjectMeta: fat(own)}, 8 << 10},
		"history":     {&appsv1.ControllerRevision{ObjectMeta: fat(own), Data: runtime.RawExtension{Raw: raw}}, 8 << 10},
		"another's":   {&appsv1.ControllerRevision{ObjectMeta: fat(metav1.OwnerReference{APIVersion: own.APIVersion, Kind: own.Kind, Name: strings.Repeat("x", 1<<20)})}, 512},
		"version":     {&appsv1.ControllerRevision{ObjectMeta: fat(metav1.OwnerReference{APIVersion: own.APIVersion + strings.Repeat("x", 1<<20), Kind: own.Kind, Name: "pay"})}, 512},
		"StatefulSet": {&appsv1.ControllerRevision{ObjectMeta: fat(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "pay"})}, 512},
	} {
		kept, err := slim(c.object)
		if err != nil {
			t.Fatal(err)
		}
		object, _ := kept.(client.Object)
		for key, value := range object.GetAnnotations() {
			if len(value) > mostAnnotation {
				t.Errorf("%s: %s has %d bytes", name, key, len(value))
			}
		}
		object.SetAnnotations(only(object.GetAnnotations(), []string{v1alpha1.AuthorAnnotation})) // the other is no JSON
		if data, err := json.Marshal(kept); err != nil || len(data) > c.most {
			t.Errorf("%s: %d bytes are kept, want up to %d: %v", name, len(data), c.most, err)
		}
		if object.GetUID() != "p" || object.GetResourceVersion() != "7" || object.GetName() != "pay" || object.GetNamespace() != "shop" {
			t.Errorf("%s is another one: %v", name, kept)
		}
	}
}

// TestListsShowWhatTheyShowed: lists show the same of a slimmed object as of the whole one.
func TestListsShowWhatTheyShowed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pay", UID: "u", Annotations: map[string]string{
			v1alpha1.CommitAnnotation: "c0ffee", v1alpha1.AuthorAnnotation: "Ada", v1alpha1.SubjectAnnotation: "Rank titles", v1alpha1.FreezeAnnotation: `{"reason":"quarter end"}`,
		}},
		Status: v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, Commit: "c0ffee", StoppedBy: []v1alpha1.StopCause{v1alpha1.StopFrozen}},
	}
	template := runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{"name":"pay","image":"registry.example.com/pay:1.9.0"}]}}`)}
	kept := &appsv1.ControllerRevision{Revision: 3, Data: template, ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "pay-3", Labels: map[string]string{v1alpha1.ReleaseLabel: "pay", v1alpha1.RevisionLabel: "abc"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease", Name: "pay", UID: "u", Controller: new(true)}},
		Annotations: map[string]string{
			v1alpha1.OutcomeAnnotation: string(v1alpha1.OutcomeReleased), v1alpha1.StartedAtAnnotation: "2026-11-25T08:00:00Z",
			v1alpha1.ReleasedAtAnnotation: "2026-11-25T09:00:00Z", v1alpha1.CommitTimeAnnotation: "2026-11-25T07:00:00Z", v1alpha1.CommitAnnotation: "c0ffee",
			v1alpha1.AuthorAnnotation: "Ada", v1alpha1.SubjectAnnotation: "Rank titles", v1alpha1.ApprovedByAnnotation: "Grace", v1alpha1.ForcedAnnotation: "soak",
		},
	}}
	row, past := view.RowOf(release, now), view.HistoryOf([]appsv1.ControllerRevision{*kept.DeepCopy()}, nil, view.HistoryQuery{}, now)
	if row.Author != "Ada" || past.Total != 1 || past.LeadTime != "120m" {
		t.Fatalf("the test shows %+v, %+v", row, past)
	}
	if past.Entries[0].Version != "1.9.0" {
		t.Fatalf("the test shows version %q", past.Entries[0].Version)
	}
	for _, object := range []any{release, kept, release, kept} { // caches may do so twice
		if _, err := slim(object); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(row, view.RowOf(release, now), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("row (-whole +kept):\n%s", diff)
	}
	if diff := cmp.Diff(past, view.HistoryOf([]appsv1.ControllerRevision{*kept}, nil, view.HistoryQuery{}, now), cmpopts.IgnoreUnexported(view.Past{})); diff != "" {
		t.Errorf("history (-whole +kept):\n%s", diff)
	}
}
