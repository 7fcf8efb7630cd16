package journeys

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestChartIsReleased: a change of an environment's values releases the workload of a chart in
// batches, and the forge shows it at the commit of the values.
func TestChartIsReleased(t *testing.T) {
	w := newForgeWorld(t, step("50%"), step("100%"))
	web1 := string(w.deploymentFile("web:1"))
	files := map[string]string{
		"charts/web/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"charts/web/templates/web.yaml": strings.Replace(web1, "image: web:1", "image: {{ .Values.image }}", 1),
		"charts/web/release.yaml":       string(releaseFile("Deployment", []v1alpha1.Step{step("50%"), step("100%")})),
		"envs/production.yaml":          "image: web:1\n",
	}
	for name, text := range files {
		w.write("ada", "main", name, []byte(text))
	}
	w.startWithForge(never, w.withWebhooks(), func(s *v1alpha1.ReleaseSource) {
		s.Spec.Path = "charts/web"
		s.Spec.Helm = &v1alpha1.HelmChart{ReleaseName: "web", ValuesFiles: []string{"../../envs/production.yaml"}}
	})
	commit := w.write("ada", "main", "envs/production.yaml", []byte("image: web:2\n"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
	w.awaitStatus(commit, "batch 1/2")
}
