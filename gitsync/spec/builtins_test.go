package spec

import (
	"maps"
	"strings"
	"testing"
)

// TestBuiltins: kustomize's own transformers and generators are let through; all else that can
// stand in their place is refused before kustomize sees it.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	const label = "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\nlabels: {tier: front}\nfieldSpecs: [{kind: Deployment, path: spec/template/metadata/labels, create: true}]\n"
	const refused = "k/kustomization.yaml:2: "
	builtin := func(kind, more string) string {
		return "apiVersion: builtin\nkind: " + kind + "\nmetadata: {name: a}\n" + more + "\n"
	}
	tests := map[string]struct {
		field string
		files map[string]string
		want  string
		has   string
	}{
		"labels":            {"transformers: [t.yaml]", map[string]string{"t.yaml": label}, "", `"tier":"front"`},
		"in place":          {"transformers:\n- |-\n  " + strings.ReplaceAll(strings.TrimSpace(label), "\n", "\n  "), nil, "", `"tier":"front"`},
		"image":             {"transformers: [t.yaml]", map[string]string{"t.yaml": builtin("ImageTagTransformer", "imageTag: {name: web, newTag: '9'}")}, "", "web:9"},
		"patch":             {"transformers: [t.yaml]", map[string]string{"t.yaml": builtin("PatchTransformer", "target: {kind: Deployment}\npatch: |-\n  - op: add\n    path: /spec/template/spec/priorityClassName\n    value: high")}, "", "high"},
		"generated":         {"generators: [g.yaml]", map[string]string{"g.yaml": builtin("ConfigMapGenerator", "files: [a.txt]"), "a.txt": "x"}, "", ""},
		"a program":         {"transformers: [t.yaml]", map[string]string{"t.yaml": "apiVersion: example.com/v1\nkind: Run\nmetadata: {name: a}\n"}, refused + `transformers: k/t.yaml: "Run" of "example.com/v1" is not supported`, ""},
		"a container":       {"transformers: [t.yaml]", map[string]string{"t.yaml": "apiVersion: v1\nkind: X\nmetadata: {name: a, annotations: {config.kubernetes.io/function: 'container: {image: evil}'}}\n"}, refused + "transformers: k/t.yaml", ""},
		"one of two":        {"transformers: [t.yaml]", map[string]string{"t.yaml": label + "---\napiVersion: example.com/v1\nkind: Run\nmetadata: {name: a}\n"}, refused + "transformers: k/t.yaml", ""},
		"a chart":           {"generators: [t.yaml]", map[string]string{"t.yaml": builtin("HelmChartInflationGenerator", "name: x\nrepo: https://example.com")}, refused + `generators: k/t.yaml: "HelmChartInflationGenerator" of "builtin" is not supported`, ""},
		"a chart in place":  {"generators:\n- |-\n  " + strings.ReplaceAll(strings.TrimSpace(builtin("HelmChartInflationGenerator", "name: x")), "\n", "\n  "), nil, "k/kustomization.yaml:3: generators: k/kustomization.yaml: ", ""},
		"a folder":          {"transformers: [more]", map[string]string{"more/kustomization.yaml": "resources: [t.yaml]", "more/t.yaml": label}, refused + `transformers: "more" is not a file of kustomize's own`, ""},
		"from elsewhere":    {"transformers: ['https://example.com/t.yaml']", nil, refused + `transformers: "https://example.com/t.yaml" is not in the repository`, ""},
		"out of the folder": {"generators: [g.yaml]", map[string]string{"g.yaml": builtin("SecretGenerator", "files: ['a=/etc/passwd']")}, refused + `generators: "/etc/passwd" leads out of the repository`, ""},
		"Git's own":         {"generators: [g.yaml]", map[string]string{"g.yaml": builtin("SecretGenerator", "envs: [../.git/config]")}, refused + `generators: "../.git/config" is Git's own`, ""},
		"a patch elsewhere": {"transformers: [t.yaml]", map[string]string{"t.yaml": builtin("PatchTransformer", "path: p.yaml")}, refused + "transformers: k/t.yaml: path is not supported", ""},
		"a bomb":            {"transformers: [t.yaml]", map[string]string{"t.yaml": builtin("LabelTransformer", bomb(9))}, refused + "transformers: k/t.yaml: the aliases", ""},
		"a bomb as a patch": {"transformers: [t.yaml]", map[string]string{"t.yaml": builtin("PatchTransformer", "patch: |-\n  "+strings.ReplaceAll(bomb(9), "\n", "\n  "))}, refused + "transformers: k/t.yaml: the aliases", ""},
		"a bomb that is data": {"generators: [g.yaml]\nresources: [web.yaml, release.yaml, b.yaml]", map[string]string{
			"g.yaml": builtin("ConfigMapGenerator", "files: [b.yaml]"), "b.yaml": bomb(9),
		}, "k/b.yaml:", ""},
		"validators": {"validators: [t.yaml]", map[string]string{"t.yaml": label}, refused + "validators is not supported", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kustomization := "resources: [web.yaml, release.yaml]\n" + tt.field + "\n"
			if strings.Contains(tt.field, "resources:") {
				kustomization = tt.field + "\n"
			}
			files := map[string]string{"k/kustomization.yaml": kustomization, "k/web.yaml": deployment("web", "web:1"), "k/release.yaml": release("web", strategy)}
			for name, text := range maps.All(tt.files) {
				files["k/"+name] = text
			}
			result := read(t, files)
			if tt.want != "" {
				if len(result.Errors) == 0 || !strings.HasPrefix(result.Errors[0].Error(), tt.want) || len(result.Releases) > 0 {
					t.Errorf("want %s, got %v and releases %v", tt.want, result.Errors, names(result))
				}
				return
			}
			wantErrors(t, result)
			wantReleases(t, result, "shop/web")
			if len(result.Releases) == 1 && !strings.Contains(string(result.Releases[0].template), tt.has) {
				t.Errorf("want %s in the template, got %s", tt.has, result.Releases[0].template)
			}
		})
	}
}

// TestRemoteEntries: a remote entry is refused at its line, with a remedy.
func TestRemoteEntries(t *testing.T) {
	t.Parallel()
	wantErrors(t, read(t, map[string]string{"kustomization.yaml": "resources:\n- web.yaml\n- https://example.com/x?ref=v1\n", web: deployment("web", "web:1")}),
		`kustomization.yaml:3: resources: "https://example.com/x?ref=v1" is not in the repository, and nothing is fetched from elsewhere: commit a copy`)
}
