package gitsync_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
)

// TestChartOfSource: the chart in a source's folder is rendered with the values of an environment.
// A commit of values and a change of spec.helm change the template; a chart that can't be rendered
// changes and deletes nothing.
func TestChartOfSource(t *testing.T) {
	w := newWorld(t)
	chart := strings.NewReplacer(`"web:1"`, "{{ .Values.image | quote }}").Replace(deploymentText("web", "web:1"))
	w.push(map[string]string{
		"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "web/values.yaml": "image: web:1\n",
		"web/templates/deployment.yaml": chart, "web/release.yaml": releaseText("web", steps), "envs/production.yaml": "image: web:2\n",
	})
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) {
		s.Spec.Path, s.Spec.Prune = "web", true
		s.Spec.Helm = &v1alpha1.HelmChart{ReleaseName: "web", ValuesFiles: []string{"../envs/production.yaml"}}
	})
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonSynced)
	w.wantImage("web", "web:2")
	if source.Spec.Helm.KubeVersion != v1alpha1.DefaultKubeVersion {
		t.Errorf("want the default version of Kubernetes in the source, got %q", source.Spec.Helm.KubeVersion)
	}
	if got := w.release("web").Annotations[v1alpha1.KustomizationAnnotation]; got != "web/Chart.yaml" {
		t.Errorf("the template is said to be built by %q", got)
	}

	w.push(map[string]string{"envs/production.yaml": "image: web:3\n"})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.wantImage("web", "web:3")

	helm := func(text string) error {
		return w.Patch(t.Context(), source.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"helm":`+text+`}}`)))
	}
	if err := helm(`{"values":{"image":"web:4"}}`); err != nil {
		t.Fatal(err)
	}
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.wantImage("web", "web:4")
	for _, wrong := range []string{`{"releaseName":"Web"}`, `{"releaseName":""}`, `{"valuesFiles":[""]}`, `{"values":[]}`, `{"kubeVersion":"latest"}`} {
		if err := helm(wrong); !apierrors.IsInvalid(err) {
			t.Errorf("want spec.helm %s refused, got %v", wrong, err)
		}
	}

	w.push(map[string]string{"web/templates/deployment.yaml": strings.Replace(chart, "spec:", "spec: # {{ fail \"no\" }}", 1)}, "web/release.yaml")
	source = w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonFilesInvalid)
	w.wantErrors(source, "web/templates/deployment.yaml:5: no")
	w.wantImage("web", "web:4")
}
