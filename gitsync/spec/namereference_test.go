package spec

import (
	"maps"
	"os"
	"strings"
	"testing"
)

// TestNamesOfKustomizeReachTheRelease: a prefix or suffix that kustomize gives a Deployment is
// given to its release, too.
func TestNamesOfKustomizeReachTheRelease(t *testing.T) {
	t.Parallel()
	base := map[string]string{
		"base/kustomization.yaml": "resources: [deploy.yaml, release.yaml]\n", "base/deploy.yaml": deployment("web", "web:1"), "base/release.yaml": release("web", strategy),
	}
	with := func(more map[string]string) map[string]string {
		all := map[string]string{}
		for _, files := range []map[string]string{base, more} {
			maps.Copy(all, files)
		}
		return all
	}
	own := "nameReference: [{kind: Deployment, fieldSpecs: [{kind: BatchRelease, path: spec/workloadRef/name}]}]\n"
	tests := map[string]struct {
		files map[string]string
		want  map[string]string // release: workload
	}{
		"prefix":                 {with(map[string]string{"prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n"}), map[string]string{"prod-web": "prod-web"}},
		"suffix":                 {with(map[string]string{"prod/kustomization.yaml": "resources: [../base]\nnameSuffix: -v2\n"}), map[string]string{"web-v2": "web-v2"}},
		"namespace":              {with(map[string]string{"prod/kustomization.yaml": "resources: [../base]\nnamespace: extra\nnamePrefix: a-\n"}), map[string]string{"a-web": "a-web"}},
		"in the base":            {with(map[string]string{"base/kustomization.yaml": "resources: [deploy.yaml, release.yaml]\nnamePrefix: b-\n"}), map[string]string{"b-web": "b-web"}},
		"in both":                {with(map[string]string{"base/kustomization.yaml": "resources: [deploy.yaml, release.yaml]\nnamePrefix: b-\n", "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n"}), map[string]string{"prod-b-web": "prod-b-web"}},
		"with its configuration": {with(map[string]string{"prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\nconfigurations: [names.yaml]\n", "prod/names.yaml": own}), map[string]string{"prod-web": "prod-web"}},
		"two of a base": {
			with(map[string]string{
				"all/kustomization.yaml": "resources: [../a, ../b]\n", "a/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n", "b/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\n",
			}), map[string]string{"a-web": "a-web", "b-web": "b-web"},
		},
		"set by hand": {
			with(map[string]string{"prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\npatches:\n- target: {kind: BatchRelease}\n  patch: |-\n    - {op: replace, path: /spec/workloadRef/name, value: prod-web}\n"}),
			map[string]string{"prod-web": "prod-web"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, tt.files)
			wantErrors(t, result)
			for _, r := range result.Releases {
				if tt.want[r.Name] != r.Workload || !r.HasWorkload() {
					t.Errorf("release %s is of Deployment %q, want %q", r.Name, r.Workload, tt.want[r.Name])
				}
			}
			if len(result.Releases) != len(tt.want) {
				t.Errorf("there are the releases %v, want %v", names(result), tt.want)
			}
		})
	}
}

// TestGeneratedNamesReachTheTemplate: whether it stands in the Deployment or in the release.
func TestGeneratedNamesReachTheTemplate(t *testing.T) {
	t.Parallel()
	from := "envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: keys}}]"
	kustomization := "resources: [deploy.yaml, release.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=b]}]\nsecretGenerator: [{name: keys, literals: [a=b]}]\n"
	inline := strings.Replace(template, "image: 'web:1'", "image: 'web:1', "+from, 1)
	for name, files := range map[string]map[string]string{
		"Deployment": {"deploy.yaml": strings.Replace(deployment("web", "web:1"), `image: "web:1"`, `image: "web:1", `+from, 1), "release.yaml": release("web", strategy)},
		"release":    {"deploy.yaml": deployment("web", "web:1"), "release.yaml": release("web", strategy+inline)},
	} {
		files["kustomization.yaml"] = kustomization
		result := read(t, files)
		wantErrors(t, result)
		if text := string(result.Releases[0].template); strings.Count(text, `"settings-`) != 1 || strings.Count(text, `"keys-`) != 1 {
			t.Errorf("%s: the template does not have the generated names: %s", name, text)
		}
		if got := result.Releases[0].Generated; len(got) != 2 || !strings.HasPrefix(got[0], "ConfigMap settings-") || !strings.HasPrefix(got[1], "Secret keys-") {
			t.Errorf("%s: generated are said to be %v, want the ConfigMap and the Secret", name, got)
		}
	}
}

// TestPartedFromItsDeployment: where a name or namespace is set for one of the two alone, the
// problem says what sets it.
func TestPartedFromItsDeployment(t *testing.T) {
	t.Parallel()
	for name, kustomization := range map[string]string{"prefix": "namePrefix: a-\n", "namespace": "namespace: extra\n"} {
		result := read(t, map[string]string{
			"kustomization.yaml": "resources: [deploy, release.yaml]\n", "release.yaml": release("web", strategy),
			"deploy/kustomization.yaml": "resources: [deploy.yaml]\n" + kustomization, "deploy/deploy.yaml": deployment("web", "web:1"),
		})
		if name == "prefix" { // kustomize finds it by the name that it had
			wantErrors(t, result)
			continue
		}
		wantErrors(t, result, "release.yaml:1: spec.template is missing, and Deployment shop/web, whose template it would be, is not in the repository"+
			" as kustomization.yaml builds it, which has Deployment extra/web of deploy/deploy.yaml:1: a namePrefix, nameSuffix or namespace must be set")
	}
	result := read(t, map[string]string{"kustomization.yaml": "resources: [release.yaml]\n", "release.yaml": release("web", strategy)})
	wantErrors(t, result, "release.yaml:1: spec.template is missing, and Deployment shop/web, whose template it would be, is not in the repository as kustomization.yaml builds it")
}

// TestExampleIsTheConfiguration: who builds the same with another program comes to the same.
func TestExampleIsTheConfiguration(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../examples/kustomize/name-reference.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(example), "\n"+nameReference) {
		t.Error("the example is not what a source gives to kustomize")
	}
}
