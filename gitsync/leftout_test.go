package gitsync_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
)

// TestSourceIgnores: spec.ignore leaves files out; a release of such a file is kept, and so is one
// that .sluiceignore names.
func TestSourceIgnores(t *testing.T) {
	w := newWorld(t)
	flux := "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  path: ./\n  images: [{name: web, newTag: '2'}]\n"
	w.push(merge(app("web", "web:1"), app("api", "api:1"), map[string]string{"clusters/apps.yaml": flux, "wrong/release.yaml": "kind: BatchRelease\nx: ["}))
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Prune = true })
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonFilesInvalid)
	overridden := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionOverridden)
	if overridden == nil || !strings.HasPrefix(overridden.Message, "clusters/apps.yaml:6: spec.images: Flux Kustomization apps changes the template of BatchRelease web") {
		t.Errorf("want the condition %s to name Flux's images, got %+v", v1alpha1.ConditionOverridden, overridden)
	}

	ignore := func(lines string) error {
		return w.Patch(t.Context(), source.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"ignore":`+lines+`}}`)))
	}
	for _, wrong := range []string{`["# a comment"]`, `[""]`, `[" x"]`, `["a\nb"]`, `["!"]`} {
		if err := ignore(wrong); !apierrors.IsInvalid(err) {
			t.Errorf("want spec.ignore %s refused, got %v", wrong, err)
		}
	}
	if err := ignore(`["clusters/","wrong/"]`); err != nil {
		t.Fatal(err)
	}
	source = w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonSynced)
	if found := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionOverridden); found != nil {
		t.Errorf("the file is ignored, and the source says %+v", found)
	}

	w.push(map[string]string{".sluiceignore": "/web/\n"})
	source = w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonFilesInvalid)
	w.wantErrors(source, "web/release.yaml:0: BatchRelease web was in this file, and is kept: it is ignored")
	w.wantImage("web", "web:1")
}
