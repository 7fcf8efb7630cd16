package chart_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/chart"
)

func TestMain(m *testing.M) {
	chart.Confine(8 << 20)
	os.Exit(m.Run())
}

// shop returns a chart that is written as popular ones are.
func shop(t *testing.T, values ...string) chart.Chart {
	t.Helper()
	made := chart.Chart{Files: map[string][]byte{}, Folder: "shop", ReleaseName: "web", Namespace: "front", KubeVersion: v1alpha1.DefaultKubeVersion, ValuesFiles: values}
	files := os.DirFS("testdata")
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			made.Files[name], err = fs.ReadFile(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// objects returns the objects of manifests by kind and name, without those that Helm runs as hooks.
func objects(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for document := range strings.SplitSeq(text, "\n---") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if object == nil {
			continue
		}
		metadata := object["metadata"].(map[string]any)
		if annotations, _ := metadata["annotations"].(map[string]any); annotations["helm.sh/hook"] == nil {
			all[object["kind"].(string)+" "+metadata["name"].(string)] = object
		}
	}
	return all
}

// tool is Helm, which is built unless it is cached.
var tool = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-modfile=../../hack/helm/go.mod", "-n", "helm").Output()
	return strings.TrimSpace(string(out)), err
})

// TestAsHelmRenders: a chart comes out as with helm template, for each environment.
func TestAsHelmRenders(t *testing.T) {
	if testing.Short() {
		t.Skip("builds Helm")
	}
	t.Parallel()
	helm, err := tool()
	if err != nil {
		t.Fatalf("build helm: %v", err)
	}
	for values, want := range map[string][]string{
		"production.yaml": {"BatchRelease web-shop", "ConfigMap web-shop", "Deployment web-shop", "Ingress web-shop", "Secret web-shop", "Service web-shop",
			"StatefulSet web-cache", "StatefulSet web-queue"},
		"small.yaml": {"ConfigMap web-shop", "Deployment web-shop", "HorizontalPodAutoscaler web-shop", "Secret web-shop", "Service web-shop"},
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			texts, problems := shop(t, path.Join("envs", values)).Render(&chart.Calls{})
			if problems != nil {
				t.Fatal(problems)
			}
			var rendered strings.Builder
			for _, text := range texts {
				rendered.WriteString("\n---\n" + string(text.Data))
			}
			got := objects(t, rendered.String())
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			var out, errors bytes.Buffer
			command := exec.CommandContext(t.Context(), helm, "template", "web", "testdata/shop", "--namespace", "front", "--values", path.Join("testdata/envs", values),
				"--kube-version", v1alpha1.DefaultKubeVersion)
			command.Stdout, command.Stderr = &out, &errors
			if err := command.Run(); err != nil {
				t.Fatalf("helm template: %v: %s", err, errors.String())
			}
			if diff := cmp.Diff(objects(t, out.String()), got); diff != "" {
				t.Errorf("-helm +Sluice:\n%s", diff)
			}
		})
	}
}

// TestPlaces: an error of a template names its own file, also in a vendored chart.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file, text string
		want       chart.Problem
	}{
		"own":       {"shop/templates/x.yaml", "# x\n{{ fail \"no\" }}", chart.Problem{File: "shop/templates/x.yaml", Line: 2, Column: 4}},
		"alias":     {"shop/charts/redis/templates/x.yaml", "\n\n{{ fail \"no\" }}", chart.Problem{File: "shop/charts/redis/templates/x.yaml", Line: 3, Column: 4}},
		"ignored":   {"shop/ignored/x.yaml", "{{ fail", chart.Problem{}},
		"no prefix": {"shop/templates/_x.yaml", "{{ fail", chart.Problem{File: "shop/templates/_x.yaml", Line: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := shop(t, "envs/production.yaml")
			made.Files[tt.file] = []byte(tt.text)
			_, problems := made.Render(&chart.Calls{})
			got := chart.Problem{}
			if len(problems) > 0 {
				got = problems[0]
				got.Message = ""
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s%v", diff, problems)
			}
		})
	}
}
