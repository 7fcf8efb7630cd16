package spec

import (
	"strings"
	"testing"
)

// TestMessages: an error says where the workload is, or what makes it, and what to do.
func TestMessages(t *testing.T) {
	t.Parallel()
	alone := release("web", strategy)
	tests := map[string]struct {
		files map[string]string
		want  []string
	}{
		"two overlays of one base": {map[string]string{
			"base/kustomization.yaml": "resources: [web.yaml, release.yaml]", "base/web.yaml": deployment("web", "web:1"), "base/release.yaml": alone,
			"staging/kustomization.yaml": "resources: [../base]", "production/kustomization.yaml": "resources: [../base]",
		}, []string{"base/release.yaml:1: BatchRelease shop/web is built by production/kustomization.yaml and by staging/kustomization.yaml: make a ReleaseSource for each, with spec.path production and staging"}},
		"two overlays, and a release": {map[string]string{
			"base/kustomization.yaml": "resources: [web.yaml]", "base/web.yaml": deployment("web", "web:1"), "release.yaml": alone,
			"staging/kustomization.yaml": "resources: [../base]", "production/kustomization.yaml": "resources: [../base]",
		}, []string{"release.yaml:1: Deployment shop/web is built by production/kustomization.yaml and by staging/kustomization.yaml: make a ReleaseSource for each"}},
		"an old version": {map[string]string{
			"release.yaml": alone, "web.yaml": strings.Replace(deployment("web", "web:1"), "apps/v1", "extensions/v1beta1", 1),
		}, []string{"release.yaml:1: spec.template is missing, and Deployment shop/web, whose template it would be, is not in the repository; web.yaml:1 has it as extensions/v1beta1: write apps/v1"}},
		"jsonnet": {map[string]string{"a/release.yaml": alone, "a/web.jsonnet": "{}"}, []string{"a/release.yaml:1: spec.template is missing, and Deployment shop/web, whose template it would be, is not in the repository; a/web.jsonnet may make it"}},
		"a HelmRelease": {map[string]string{
			"release.yaml": alone, "hr.yaml": "# x\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\n",
		}, []string{"release.yaml:1: spec.template is missing, and Deployment shop/web, whose template it would be, is not in the repository; HelmRelease web in hr.yaml:2 may make it from a chart"}},
		"a chart": {map[string]string{
			"release.yaml": alone, "charts/web/Chart.yaml": "name: web\n", "charts/web/templates/web.yaml": "{{ .a }}",
		}, []string{"release.yaml:1: spec.template is missing, and Deployment shop/web, whose template it would be, is not in the repository; the Helm chart in charts/web may make it"}},
		"a Kustomization of Flux": {map[string]string{
			"kustomization.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec: {path: ./apps}\n",
		}, []string{"kustomization.yaml:1: this is a Kustomization of Flux, and kustomize takes a file of this name"}},
		"a template of a kustomization": {map[string]string{"kustomization.yaml": "resources:\n- {{ .Values.a }}\n"}, []string{"kustomization.yaml:1: this looks like a template"}},
		"charts of kustomize":           {map[string]string{"kustomization.yaml": "helmCharts: [{name: x}]\n"}, []string{"kustomization.yaml:1: helmCharts is not supported: Sluice does not render Helm charts: commit what they make"}},
		"misspelt":                      {map[string]string{"r.yaml": release("web", "strategyy: {stepz: []}\n"+template)}, []string{"r.yaml:7: spec.strategyy: unknown field; did you mean strategy?"}},
		"misspelt deep down":            {map[string]string{"r.yaml": release("web", "strategy: {stepz: []}\n"+template)}, []string{"r.yaml:7: spec.strategy.stepz: unknown field; did you mean steps?"}},
		"like nothing":                  {map[string]string{"r.yaml": release("web", strategy+template+"zebra: 1")}, []string{"r.yaml:9: spec.zebra: unknown field"}},
		"UTF-16 beside": {map[string]string{"release.yaml": alone, "web.yaml": "\xff\xfek\x00"}, []string{
			"release.yaml:1: spec.template is missing, and Deployment shop/web, whose template it would be, is not in any file that can be read, and web.yaml can't",
			"web.yaml:1: the file is not UTF-8 text, but UTF-16: save it as UTF-8",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, tt.files)
			wantErrors(t, result, tt.want...)
			wantReleases(t, result)
		})
	}
}
