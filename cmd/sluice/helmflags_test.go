package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// chartTree returns a working tree whose second commit changes an image in the values.
func chartTree(t *testing.T) *workingTree {
	t.Helper()
	tree := newTree(t)
	web := strings.NewReplacer("image: nginx", "image: '{{ .Values.image }}'", "spec:\n  selector", "spec:\n  replicas: {{ .Values.replicas }}\n  selector").Replace(lintedDeployment)
	tree.files("The chart", map[string]string{
		"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "web/values.yaml": "image: nginx\nreplicas: 1\n",
		"web/templates/web.yaml": web, "web/release.yaml": lintedRelease, "envs/production.yaml": "image: nginx:1\nreplicas: 4\n",
	})
	tree.files("Second version", map[string]string{"envs/production.yaml": "image: nginx:2\nreplicas: 4\n"})
	return tree
}

// TestChartBeforeThePush: lint, plan, simulate and check render a chart as its ReleaseSource will.
func TestChartBeforeThePush(t *testing.T) {
	t.Parallel()
	root := chartTree(t).root
	production := []string{"--helm-release-name=web", "--helm-values-file=../envs/production.yaml"}
	cases := map[string]struct {
		reason         string
		args           []string
		code           int
		stdout, stderr string // contained
	}{
		"Lint":     {"the release is there", append([]string{"lint", filepath.Join(root, "web")}, production...), exitOK, "1 release in 1 file: no errors, no warnings\n", ""},
		"OneFile":  {"a template belongs to its chart", append([]string{"lint", filepath.Join(root, "web/templates/web.yaml")}, production...), exitOK, "1 release in 1 file: no errors, no warnings\n", ""},
		"LeftOut":  {"without the name it is left out", []string{"lint", filepath.Join(root, "web")}, exitError, "the Helm chart in web may make it", ""},
		"Values":   {"values of the source override files", append([]string{"lint", filepath.Join(root, "web"), "--helm-values={replicas: 1}"}, production...), exitOK, "1 warning", ""},
		"NoFile":   {"a file of values must be there", []string{"lint", filepath.Join(root, "web"), "--helm-release-name=web", "--helm-values-file=none.yaml"}, exitError, "the repository has no web/none.yaml", ""},
		"NoName":   {"values alone render nothing", []string{"lint", root, "--helm-values={}"}, exitUsage, "", "need --helm-release-name"},
		"NoMap":    {"values are a map", []string{"lint", root, "--helm-values=[]"}, exitUsage, "", "must be a map of values"},
		"NoChart":  {"a chart must be there", append([]string{"lint", root}, production...), exitError, "", "has no Chart.yaml"},
		"Plan":     {"what values change is released", append([]string{"plan", filepath.Join(root, "web")}, production...), exitOK, "spec.template.spec.containers[web].image: nginx:1 -> nginx:2", ""},
		"New":      {"there was no chart before", append([]string{"plan", filepath.Join(root, "web"), "--to=HEAD~1"}, production...), exitOK, ": 1 added\n", ""},
		"Simulate": {"a chart can be simulated", append([]string{"simulate", filepath.Join(root, "web")}, production...), exitOK, "4     3    1    4", ""},
		"Check": {"and checked at its repository", append([]string{"check", "--repository=file://" + root, "--git-allow-file", "--path=web"}, production...), exitOK,
			"releases: 1, manifest files read: 1", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), tc.args, &stdout, &stderr); code != tc.code {
				t.Errorf("%s: want exit code %d, got %d: %s%s", tc.reason, tc.code, code, stdout.String(), stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: want %q and %q, got %q and %q", tc.reason, tc.stdout, tc.stderr, stdout.String(), stderr.String())
			}
		})
	}
}
