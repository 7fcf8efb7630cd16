package gitsync_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestDeletedWorkloadWaitsForItsTemplate: a workload that is deleted in mid-release is created with
// the template in its release's history: not with one of another release, or one that was rolled
// back. Until then the source reports an error, and the release follows Git.
func TestDeletedWorkloadWaitsForItsTemplate(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.inMidRelease("web")
	w.push(app("web", "web:2"))

	refused := "web/release.yaml:1: Deployment web was deleted and is not created: the template in Git has not passed its gates, and " +
		"the template of its revision v1, which was released last, is not kept"
	w.syncUntil(func(source *v1alpha1.ReleaseSource) error {
		if len(source.Status.Errors) != 1 || !strings.Contains(source.Status.Errors[0].Message, "was deleted and is not created") {
			return fmt.Errorf("want the source to say that the Deployment was deleted, got %+v", source.Status.Errors)
		}
		return nil
	})
	rolledBack := map[string]string{v1alpha1.OutcomeAnnotation: string(v1alpha1.OutcomeRolledBack)}
	for name, forge := range map[string]func(){
		"nothing is kept":                func() {},
		"another release keeps it":       func() { w.keep("forged", "another", nil) },
		"what is kept, is rolled back":   func() { w.keep("bad", w.release("web").UID, rolledBack) },
		"another revision of it is kept": func() { w.keep("next", w.release("web").UID, map[string]string{"revision": "v2"}) },
	} {
		forge()
		source := w.sync("shop")
		w.wantReady(source, v1alpha1.ReasonApplyFailed)
		w.wantErrors(source, refused)
		if w.deployment("web") != nil {
			t.Fatalf("%s: the Deployment is created", name)
		}
		w.wantImage("web", "web:2")
	}

	w.keep("good", w.release("web").UID, nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	created := w.deployment("web")
	if created == nil || created.Spec.Template.Spec.Containers[0].Image != "web:1" || created.Spec.Selector.MatchLabels["app"] != "web" {
		t.Errorf("want the Deployment in Git with the template that is kept, got %+v", created)
	}
}

// TestDeletedWithItsRelease: a workload that is deleted together with its release is created as it
// is in Git.
func TestDeletedWithItsRelease(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.inMidRelease("web")
	if err := w.Delete(w.Context(), w.release("web")); err != nil {
		t.Fatal(err)
	}
	other := app("web", "web:2")
	other["web/deploy.yaml"] = strings.ReplaceAll(other["web/deploy.yaml"], "app: web", "app: other")
	w.push(other)
	w.wantReady(w.syncUntil(func(source *v1alpha1.ReleaseSource) error {
		if !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("want the source ready, got %+v; errors %+v", source.Status.Conditions, source.Status.Errors)
		}
		return nil
	}), v1alpha1.ReasonSynced)
	w.wantImage("web", "web:2")
	if created := w.deployment("web"); created == nil || created.Spec.Template.Spec.Containers[0].Image != "web:2" {
		t.Errorf("want the Deployment as it is in Git, got %+v", created)
	}
}

// inMidRelease has a release wait at a gate, and deletes its Deployment.
func (w *world) inMidRelease(name string) {
	w.Helper()
	release := w.release(name)
	metav1.SetMetaDataAnnotation(&release.ObjectMeta, v1alpha1.CurrentStableAnnotation, "v1")
	if err := w.Update(w.Context(), release); err != nil {
		w.Fatal(err)
	}
	release.Status.Attempt, release.Status.StableRevision = 2, "v1"
	release.Status.Resolved = &v1alpha1.ResolvedTemplate{Given: release.Annotations[v1alpha1.GitTemplateAnnotation], Digest: "v2", Revision: "v2"}
	if err := w.Status().Update(w.Context(), release); err != nil {
		w.Fatal(err)
	}
	if err := w.Delete(w.Context(), w.deployment(name), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		w.Fatal(err)
	}
	cptest.Eventually(w.T, soon, func() error {
		if w.deployment(name) != nil {
			return fmt.Errorf("want Deployment %s to be gone", name)
		}
		return nil
	})
}

// keep records web:1 as revision v1 of a release of a UID.
func (w *world) keep(name string, release types.UID, annotations map[string]string) {
	w.Helper()
	owner := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease", Name: "web", UID: release, Controller: new(true)}
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: name, Annotations: annotations, OwnerReferences: []metav1.OwnerReference{owner},
		Labels: map[string]string{v1alpha1.ReleaseLabel: "web", v1alpha1.RevisionLabel: "v1"},
	}}
	if other := annotations["revision"]; other != "" {
		revision.Labels[v1alpha1.RevisionLabel] = other
	}
	revision.Data = runtime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app","image":"web:1"}]}}`)}
	if err := w.Create(w.Context(), revision); err != nil {
		w.Fatal(err)
	}
}
