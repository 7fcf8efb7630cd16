package spec

import (
	"strings"
	"testing"
)

// TestReleaseBesideKustomization: a release in the folder of a kustomization need not be among its
// resources; its workload is the one that is built there.
func TestReleaseBesideKustomization(t *testing.T) {
	t.Parallel()
	overlay := func(more string) map[string]string {
		return map[string]string{
			"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment("web", "web:1"),
			"prod/kustomization.yaml": "resources: [../base]\nimages: [{name: web, newTag: '2'}]\n" + more,
			"prod/release.yaml":       "# here\n" + release("web", strategy),
		}
	}
	result := read(t, overlay(""))
	wantErrors(t, result)
	wantReleases(t, result, "shop/web")
	of := result.Releases[0]
	if of.File != "prod/release.yaml" || of.Line != 2 || of.Kustomization != "prod/kustomization.yaml" || of.TemplateFile != "base/web.yaml" {
		t.Errorf("the release is said to come from %s:%d, %q, %q", of.File, of.Line, of.Kustomization, of.TemplateFile)
	}
	if !strings.Contains(string(of.template), "web:2") {
		t.Errorf("want the template as it is built, got %s", of.template)
	}

	placed := read(t, overlay("namespace: extra\n"))
	wantErrors(t, placed)
	wantReleases(t, placed, "extra/web")

	named := read(t, overlay("namePrefix: prod-\n"))
	wantErrors(t, named, "prod/release.yaml:2: spec.template is missing, and Deployment shop/web, whose template it would be, is not in the repository "+
		"as prod/kustomization.yaml builds it, which has Deployment shop/prod-web of base/web.yaml:1: a release that stands beside a kustomization names the workload as it is built")
	full := overlay("namePrefix: prod-\n")
	full["prod/release.yaml"] = strings.Replace(release("web", strategy), "Deployment, name: web", "Deployment, name: prod-web", 1)
	wantErrors(t, read(t, full))

	both := overlay("")
	both["prod/kustomization.yaml"] = "resources: [../base, release.yaml]\n"
	wantReleases(t, read(t, both), "shop/web")
	both["prod/other.yaml"] = both["prod/release.yaml"]
	wantErrors(t, read(t, both), "prod/other.yaml:2: BatchRelease shop/web is also in prod/release.yaml:2", "prod/release.yaml:2: BatchRelease shop/web is also in prod/other.yaml:2")

	beside := overlay("")
	beside["prod/release.yaml"] += "---\n" + deployment("more", "more:1") // kustomize does not take it
	wantReleases(t, read(t, beside), "shop/web")
	broken := overlay("")
	broken["prod/kustomization.yaml"] = "resources: [gone.yaml]\n"
	wantReleases(t, read(t, broken))
}

// TestReleaseBreaksBuild: where a kustomization fails only because of the release in it, the error
// says so and what to do.
func TestReleaseBreaksBuild(t *testing.T) {
	t.Parallel()
	labelled := strings.Replace(deployment("web", "web:1"), "metadata:\n", "metadata:\n  labels: {helm.sh/chart: x}\n", 1)
	files := map[string]string{
		web: labelled, "release.yaml": release("web", strategy),
		"kustomization.yaml": "resources: [web.yaml, release.yaml]\npatches:\n- patch: |-\n    - op: remove\n      path: /metadata/labels/helm.sh~1chart\n  target: {}\n",
	}
	wantErrors(t, read(t, files), "release.yaml: kustomization.yaml can't be built with the BatchRelease among its resources, and can be without it: take this file out of resources")
	files["kustomization.yaml"] = strings.Replace(files["kustomization.yaml"], ", release.yaml", "", 1)
	result := read(t, files)
	wantErrors(t, result)
	wantReleases(t, result, "shop/web")
	files["kustomization.yaml"] = "resources: [web.yaml, release.yaml, gone.yaml]\n"
	wantErrors(t, read(t, files), "kustomization.yaml: kustomize: ")
	one := map[string]string{"web.yaml": labelled + "---\n" + release("web", strategy), "kustomization.yaml": "resources: [web.yaml]\npatches:\n- patch: |-\n    - op: remove\n      path: /metadata/labels/a\n  target: {}\n"}
	wantErrors(t, read(t, one), "kustomization.yaml: kustomize: ")
}

// TestCauseFirst: of a chain of kustomize's errors the cause is said first.
func TestCauseFirst(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../c]\n", "c/kustomization.yaml": "resources: [gone.yaml]\n"}
	wantErrors(t, read(t, files), `a/kustomization.yaml: kustomize: "c/gone.yaml" is not in the repository`)
}
