package journeys

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// applyAs applies a manifest of the Deployment as a GitOps tool does: server-side, and by force.
func (w *world) applyAs(manager string, manifest map[string]any, options ...client.ApplyOption) *unstructured.Unstructured {
	w.Helper()
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(manifest)}
	object.SetNamespace(w.namespace)
	options = append(options, client.FieldOwner(manager), client.ForceOwnership)
	if err := w.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(object), options...); err != nil {
		w.Fatalf("apply as %s: %v", manager, err)
	}
	return object
}

// live returns the workload of a kind as it is now.
func (w *world) live(kind string) *unstructured.Unstructured {
	w.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind))
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, live); err != nil {
		w.Fatalf("read %s: %v", kind, err)
	}
	return live
}

// wantLeftByArgoCD wants Argo CD to show no difference between a manifest and the cluster, and a
// sync of it to change nothing.
func (w *world) wantLeftByArgoCD(when string, manifest map[string]any) {
	w.Helper()
	kind, _ := manifest["kind"].(string)
	live, ignored := w.live(kind), ignoredByArgoCD(w.T, kind)
	for _, path := range differences("", manifest, live.Object) {
		if !slices.ContainsFunc(ignored, func(pointer string) bool { return strings.HasPrefix(path+"/", pointer+"/") }) {
			w.Errorf("%s: want no difference that Argo CD shows, have %s", when, path)
		}
	}
	synced := w.applyAs("argocd-controller", respecting(w.T, runtime.DeepCopyJSON(manifest), live, ignored))
	if diff := cmp.Diff(live.Object["spec"], synced.Object["spec"]); diff != "" {
		w.Errorf("%s: want a sync to leave the spec as it is, -before +after:\n%s", when, diff)
	}
}

// ignoredByArgoCD returns the fields of a kind that the docs have it ignore.
func ignoredByArgoCD(t *testing.T, kind string) []string {
	t.Helper()
	var application struct {
		Spec struct {
			IgnoreDifferences []struct {
				Kind         string   `json:"kind"`
				JSONPointers []string `json:"jsonPointers"`
			} `json:"ignoreDifferences"`
		} `json:"spec"`
	}
	readInterop(t, "argocd-application.yaml", &application)
	for _, ignored := range application.Spec.IgnoreDifferences {
		if ignored.Kind == kind {
			return ignored.JSONPointers
		}
	}
	t.Fatalf("the docs have Argo CD ignore nothing of a %s", kind)
	return nil
}

// partialOf returns the manifest that the docs give Flux, for a kind.
func partialOf(t *testing.T, kind string) map[string]any {
	t.Helper()
	var partial map[string]any
	readInterop(t, "flux-deployment-fields.yaml", &partial)
	partial["kind"] = kind
	if kind == "DaemonSet" {
		unstructured.RemoveNestedField(partial, "spec") // it has no replicas
	}
	return partial
}

// differences returns the paths at which a manifest has something else than the cluster.
func differences(path string, manifest, live any) []string {
	if items, isList := manifest.([]any); isList {
		if liveItems, _ := live.([]any); len(liveItems) == len(items) {
			var found []string
			for i := range items {
				found = append(found, differences(fmt.Sprintf("%s/%d", path, i), items[i], liveItems[i])...)
			}
			return found
		}
	}
	fields, isMap := manifest.(map[string]any)
	if !isMap {
		if fmt.Sprint(manifest) == fmt.Sprint(live) || reflect.DeepEqual(manifest, live) {
			return nil
		}
		return []string{path}
	}
	liveFields, _ := live.(map[string]any)
	var found []string
	for name, value := range fields {
		found = append(found, differences(path+"/"+name, value, liveFields[name])...)
	}
	return found
}

// respecting returns a manifest with the cluster's values of ignored fields, as a sync with
// RespectIgnoreDifferences applies it.
func respecting(t *testing.T, manifest map[string]any, live *unstructured.Unstructured, ignored []string) map[string]any {
	t.Helper()
	for _, pointer := range ignored {
		path := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		value, found, err := unstructured.NestedFieldCopy(live.Object, path...)
		if err != nil {
			t.Fatalf("read %s: %v", pointer, err)
		}
		if !found {
			unstructured.RemoveNestedField(manifest, path...)
			continue
		}
		if err := unstructured.SetNestedField(manifest, value, path...); err != nil {
			t.Fatalf("set %s: %v", pointer, err)
		}
	}
	return manifest
}

// wantLeftByFlux wants a partial manifest to change nothing that Sluice manages, and a whole one
// to.
func (w *world) wantLeftByFlux(when string, partial, whole map[string]any) {
	w.Helper()
	kind, _ := partial["kind"].(string)
	live := w.live(kind)
	applied := w.applyAs("kustomize-controller", partial)
	if diff := cmp.Diff(live.Object["spec"], applied.Object["spec"]); diff != "" || applied.GetLabels()["team"] != "shop" {
		w.Errorf("%s: want the label set and the spec left as it is, have labels %v, -before +after:\n%s", when, applied.GetLabels(), diff)
	}
	tried := w.applyAs("kustomize-controller", whole, client.DryRunAll)
	if cmp.Equal(live.Object["spec"], tried.Object["spec"]) {
		w.Errorf("%s: a whole manifest changes nothing: the docs need not warn of it", when)
	}
}

// TestGitOpsToolsLeaveReleasesAlone: Argo CD and Flux, configured as the docs say, see and change
// nothing of a workload that Sluice releases, at each moment that matters.
func TestGitOpsToolsLeaveReleasesAlone(t *testing.T) {
	onEachKind(t, func(w *world, p workloadKind) {
		w.startController()
		workload := p.workload(w, 4)
		inGit := func(image string) map[string]any {
			*templateOf(workload) = p.template(w, image, nil)
			manifest := withoutStatus(workload)
			manifest["apiVersion"], manifest["kind"] = "apps/v1", p.kind
			switch p.kind {
			case "StatefulSet":
				manifest["spec"].(map[string]any)["updateStrategy"] = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}}
			case "DaemonSet":
				if err := unstructured.SetNestedField(manifest, "RollingUpdate", "spec", "updateStrategy", "type"); err != nil {
					w.Fatalf("set update strategy: %v", err)
				}
			}
			return manifest
		}
		leftAlone := func(when string) {
			w.Helper()
			w.wantLeftByArgoCD(when, inGit("web:2"))
			w.wantLeftByFlux(when, partialOf(w.T, p.kind), inGit("web:9"))
		}
		w.applyAs("argocd-controller", inGit("web:1"))
		w.await(all(web.serves("web:1", 4), seenNatively))
		leftAlone("before the release")
		w.create(p.to(w, step("50%"), step("100%")))
		w.await(all(web.observed, p.half(4)))
		leftAlone("in mid-release")
		w.confirm("web")
		w.await(all(web.completed, web.handedBack, web.serves("web:2", 4)))
		leftAlone("after the release")
		w.rollBack()
		w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, ""), web.serves("web:1", 4)))
		leftAlone("after a rollback")
	})
}
