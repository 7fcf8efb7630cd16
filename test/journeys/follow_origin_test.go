package journeys

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// TestFollowAppliers: a release has the commit that Flux or Argo CD applies, by what these say of
// the workload. A workload that names the Kustomization of somebody else gets none of its commits.
func TestFollowAppliers(t *testing.T) {
	w := newFollowingWorld(t)
	cfg, err := w.access.Config()
	if err == nil {
		err = controlplane.Apply(t.Context(), cfg, filepath.Join("testdata", "appliers.yaml"))
	}
	if err != nil {
		t.Fatal(err)
	}
	w.applyShipped("follow/appliers.yaml")
	w.applyShipped("follow/appliers_binding.yaml")
	w.startController()
	h := tool{w, "Deployment", w.charts()["Deployment"]}
	h.applies("web:1")
	w.await(web.serves("web:1", 4))
	w.create(following(release("", step(1), step("100%", none()))))
	w.await(all(web.completed, labelled))

	digits := func(digit string) string { return strings.Repeat(digit, 40) }
	kustomization := func(name, id, commit string) string {
		return `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: ` + name + `},
			status: {inventory: {entries: [{id: ` + w.namespace + `_` + id + `, v: v1}]}, lastAppliedRevision: "main@sha1:` + digits("0") + `", lastAttemptedRevision: "` + commit + `"}}`
	}
	flux := func(group, name string) map[string]string {
		return map[string]string{group + ".toolkit.fluxcd.io/name": name, group + ".toolkit.fluxcd.io/namespace": w.namespace}
	}
	for i, tt := range []struct {
		labels, annotations map[string]string
		objects             []string
		want                string
	}{
		{labels: flux("kustomize", "a"), objects: []string{kustomization("a", "web_apps_Deployment", "main@sha1:"+digits("a"))}, want: digits("a")},
		{labels: flux("kustomize", "b"), objects: []string{kustomization("b", "other_apps_Deployment", "main@sha1:"+digits("b"))}},
		{labels: flux("kustomize", "c"), objects: []string{kustomization("c", "web_apps_Deployment", "v1@sha256:"+strings.Repeat("c", 64))}, want: digits("0")},
		{labels: flux("kustomize", "none")},
		{labels: flux("helm", "d"), objects: []string{
			`{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: d, labels: {kustomize.toolkit.fluxcd.io/name: d, kustomize.toolkit.fluxcd.io/namespace: ` + w.namespace + `}}}`,
			kustomization("d", "d_helm.toolkit.fluxcd.io_HelmRelease", digits("d")),
			kustomization("d", "d_helm.toolkit.fluxcd.io_HelmRelease", "main@sha1:"+digits("d")),
		}, want: digits("d")},
		{labels: flux("helm", "e"), objects: []string{
			`{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: e, labels: {kustomize.toolkit.fluxcd.io/name: e, kustomize.toolkit.fluxcd.io/namespace: ` + w.namespace + `}}, spec: {targetNamespace: default}}`,
			kustomization("e", "e_helm.toolkit.fluxcd.io_HelmRelease", "main@sha1:"+digits("e")),
		}},
		{annotations: map[string]string{"argocd.argoproj.io/tracking-id": w.namespace + "_f:apps/Deployment:" + w.namespace + "/web"}, objects: []string{
			`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: f}, status: {sync: {revision: main}, operationState: {operation: {sync: {revision: ` + digits("f") + `}}},
				resources: [{group: apps, version: v1, kind: Deployment, namespace: ` + w.namespace + `, name: web}]}}`,
		}, want: digits("f")},
		{annotations: map[string]string{"argocd.argoproj.io/tracking-id": w.namespace + "_g:apps/Deployment:" + w.namespace + "/web"}, objects: []string{
			`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: g}, status: {sync: {revision: ` + digits("9") + `}, resources: [{group: apps, version: v1, kind: Deployment, namespace: default, name: web}]}}`,
		}},
	} {
		for _, text := range tt.objects {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
				t.Fatal(err)
			}
			object.SetNamespace(w.namespace)
			if err := w.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("flux"), client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
		}
		image := "web:" + string(rune('b'+i))
		chart := h.chart
		h.chart = func(image string) client.Object {
			object := chart(image)
			object.SetLabels(tt.labels)
			object.SetAnnotations(tt.annotations)
			return object
		}
		h.applies(image)
		h.chart = chart
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, image: 1}), web.status("the commit of its applier", func(s *v1alpha1.BatchReleaseStatus) bool {
			return s.Commit == tt.want
		})))
	}
}
