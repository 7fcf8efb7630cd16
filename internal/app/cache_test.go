package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestTrim(t *testing.T) {
	t.Parallel()
	object := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{
		Name:          "web",
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", v1alpha1.CommitAnnotation: "c0ffee"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	got, err := trim(object)
	if err != nil {
		t.Fatalf("trim: %v", err)
	}
	want := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Annotations: map[string]string{v1alpha1.CommitAnnotation: "c0ffee"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("only what nobody reads is taken off: -want +got:\n%s", diff)
	}
	if got, err := trim("tombstone"); err != nil || got != "tombstone" {
		t.Errorf("what is no object is left alone, got %v, %v", got, err)
	}
}

func TestCacheOptions(t *testing.T) {
	t.Parallel()
	all := cacheOptions(nil)
	if all.DefaultNamespaces != nil {
		t.Errorf("no namespaces means all of them, got %v", all.DefaultNamespaces)
	}
	some := cacheOptions([]string{"shop", "bank"})
	if diff := cmp.Diff(map[string]cache.Config{"shop": {}, "bank": {}}, some.DefaultNamespaces); diff != "" {
		t.Errorf("the namespaces given are watched: -want +got:\n%s", diff)
	}
	for object, options := range all.ByObject {
		if _, revisions := object.(*appsv1.ControllerRevision); !revisions {
			continue
		}
		if options.Label.Matches(labels.Set{"app": "db"}) || !options.Label.Matches(labels.Set{v1alpha1.ReleaseLabel: "web"}) {
			t.Errorf("only the revisions of releases are watched, got selector %s", options.Label)
		}
	}
}
