package spec

import (
	"maps"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
)

// TestOverrides: fields that Flux and Argo CD change on apply are found, with their place, if they
// concern a release.
func TestOverrides(t *testing.T) {
	t.Parallel()
	flux := func(spec string) string {
		return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec:\n  path: ./apps\n" + indent(spec)
	}
	argo := func(source string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: {namespace: shop}\n" +
			"  source:\n    repoURL: https://example.com/shop/releases\n    path: apps\n    " + source + "\n"
	}
	const template = "apply.yaml:6: spec."
	tests := map[string]struct {
		applier          string
		warnings, errors []string
	}{
		"nothing":                {applier: flux("prune: true\npostBuild: {}")},
		"substitutes in args":    {flux("postBuild: {substitute: {A: b}}"), []string{template + "postBuild: Flux Kustomization apps changes the template of BatchRelease web (apps/release.yaml:1)"}, nil},
		"substitutes from":       {flux("postBuild: {substituteFrom: [{kind: ConfigMap, name: a}]}"), []string{template + "postBuild"}, nil},
		"image":                  {flux("images: [{name: web, newTag: '2'}]"), []string{template + "images"}, nil},
		"the same image":         {flux("images: [{name: web, newTag: '1'}]"), nil, nil},
		"another image":          {flux("images: [{name: example.com/web, newTag: '2'}]"), nil, nil},
		"digest":                 {flux("images: [{name: web, digest: 'sha256:1'}]"), []string{template + "images"}, nil},
		"mirror":                 {flux("images: [{name: web, newName: mirror/web}]"), []string{template + "images"}, nil},
		"patch of the template":  {flux("patches: [{patch: '[{op: add, path: /spec/template/spec/priorityClassName, value: high}]', target: {kind: Deployment}}]"), []string{template + "patches"}, nil},
		"patch of replicas":      {flux("patches: [{patch: '[{op: add, path: /spec/replicas, value: 1}]', target: {kind: Deployment}}]"), nil, nil},
		"patch of others":        {flux("patches: [{patch: '[{op: add, path: /spec/template/spec/a, value: 1}]', target: {kind: Deployment, name: api}}]"), nil, nil},
		"patch by a pattern":     {flux("patches: [{patch: '[{op: add, path: /spec/template/spec/a, value: 1}]', target: {name: 'w.*'}}]"), []string{template + "patches"}, nil},
		"merge of the template":  {flux("patches: [{patch: '{kind: Deployment, metadata: {name: web}, spec: {template: {spec: {}}}}'}]"), []string{template + "patches"}, nil},
		"merge of others":        {flux("patches: [{patch: '{kind: Deployment, metadata: {name: api}, spec: {template: {spec: {}}}}'}]"), nil, nil},
		"a pattern that is none": {flux("patches: [{patch: '[{path: /spec/template}]', target: {name: '('}}]"), nil, nil},
		"components":             {flux("components: [../more]"), []string{template + "components"}, nil},
		"prefix":                 {flux("namePrefix: prod-"), nil, []string{template + "namePrefix: Flux Kustomization apps applies the workload of BatchRelease web"}},
		"its namespace":          {flux("targetNamespace: shop"), nil, nil},
		"another namespace":      {flux("targetNamespace: other"), nil, []string{template + "targetNamespace"}},
		"another folder":         {strings.Replace(flux("namePrefix: prod-"), "./apps", "./app", 1), nil, nil},
		"the root":               {strings.Replace(flux("namePrefix: prod-"), "./apps", "./", 1), nil, []string{template + "namePrefix"}},
		"one that fits as well":  {flux("targetNamespace: other") + "---\n" + flux("targetNamespace: shop"), nil, nil},
		"types that are wrong":   {flux("images: 5\nnamePrefix: {}"), nil, nil},
		"Argo CD":                {argo("kustomize: {images: ['web:2'], commonLabels: {a: b}}"), []string{"apply.yaml:9: spec.source.kustomize.images: Argo CD Application web", "apply.yaml:9: spec.source.kustomize.commonLabels"}, nil},
		"Argo CD, renamed":       {argo("kustomize: {images: ['web=mirror/web'], namePrefix: prod-}"), []string{"apply.yaml:9: spec.source.kustomize.images"}, []string{"apply.yaml:9: spec.source.kustomize.namePrefix"}},
		"Argo CD, elsewhere":     {strings.Replace(argo("kustomize: {namePrefix: prod-}"), "shop/releases", "shop/other", 1), nil, nil},
		"Argo CD, into others":   {strings.Replace(argo("kustomize: {}"), "namespace: shop", "namespace: other", 1), nil, []string{"apply.yaml:5: spec.destination.namespace"}},
		"Argo CD, as a set":      {"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: web}\nspec: {template: {spec: {sources: [{path: apps, kustomize: {images: ['web:2']}}]}}}\n", []string{"apply.yaml:4: spec.template.spec.sources[0].kustomize.images"}, nil},
		"Argo CD, a template":    {"apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: web}\nspec: {template: {spec: {source: {path: '{{path}}', kustomize: {namePrefix: x}}}}}\n", nil, nil},
		"broken":                 {flux("namePrefix: [}"), nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, more := range []map[string]string{nil, {"apps/kustomization.yaml": "resources: [web.yaml, release.yaml]\n"}} {
				files := map[string]string{
					"apps/web.yaml":     strings.Replace(deployment("web", "web:1"), `image: "web:1"}`, `image: "web:1", args: ['${A}']}`, 1),
					"apps/release.yaml": release("web", strategy),
					"apply.yaml":        tt.applier,
				}
				maps.Copy(files, more)
				reader := NewReader(Options{Namespace: "shop", Repository: "git@example.com:shop/releases.git", Builder: builds.For(t.Context(), sandbox.Owner{})})
				result, err := reader.Read(tree(files), "apps")
				if err != nil {
					t.Fatal(err)
				}
				wantErrors(t, result, tt.errors...)
				wantErrors(t, &Result{Errors: result.Warnings}, tt.warnings...)
				if refused := len(result.Releases) == 0; refused != (tt.errors != nil) {
					t.Errorf("got %d releases", len(result.Releases))
				}
			}
		})
	}
}

// TestOverridesAreIgnored: overrides for another cluster are left out where people declare them.
func TestOverridesAreIgnored(t *testing.T) {
	t.Parallel()
	files := app()
	files["clusters/staging/apps.yaml"] = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps}\nspec: {path: ., namePrefix: staging-}\n"
	result, err := ignoringReader(t, "clusters/staging/").Read(tree(files), ".")
	if err != nil {
		t.Fatal(err)
	}
	wantErrors(t, result)
	wantReleases(t, result, "shop/web")
}
