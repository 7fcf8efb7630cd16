package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFiles writes files below a new folder, and names it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatalf("make folder: %v", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatalf("write file: %v", err)
		}
	}
	return folder
}

const lintedDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}
`

const lintedRelease = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web, namespace: shop}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy: {steps: [{replicas: 1}, {replicas: 100%}]}
`

// TestLint: files and folders of a repository, the exit codes, and whose names are printed.
func TestLint(t *testing.T) {
	t.Parallel()
	root := writeFiles(t, map[string]string{
		".git/HEAD":                  "ref: refs/heads/main\n",
		"good/web.yaml":              lintedDeployment + "---\n" + lintedRelease,
		"bad/web.yaml":               lintedDeployment + "---\n" + strings.Replace(lintedRelease, "replicas: 1}", "replica: 1}", 1),
		"bad/other.yaml":             "a: [ # BatchRelease\n",
		"broken/kustomization.yaml":  "resources: [web.yaml, missing.yaml]\n",
		"broken/web.yaml":            lintedDeployment + "---\n" + lintedRelease,
		"elsewhere/README.md":        "nothing to release\n",
		"overlay/kustomization.yaml": "resources: [parts]\n",
		"overlay/parts/kustomization.yaml": "resources: [release.yaml, deployment.yaml]\npatches:\n" +
			"- patch: |-\n    - {op: replace, path: /spec/strategy/steps/0/replicas, value: 150%}\n  target: {kind: BatchRelease}\n",
		"overlay/parts/release.yaml":    lintedRelease,
		"overlay/parts/deployment.yaml": lintedDeployment,
	})
	cases := map[string]struct {
		reason         string
		args           []string
		code           int
		stdout, stderr string // contained
	}{
		"Good":       {"all is well", []string{"good"}, exitOK, "1 release in 1 file: no errors, no warnings\n", ""},
		"Bad":        {"place and message are on one line", []string{"bad"}, exitError, "bad/web.yaml:13:23: error: spec.strategy.steps[0].replica: unknown field", "sluice: 2 errors, no warnings"},
		"Several":    {"what is wrong anywhere counts", []string{"good", "bad"}, exitError, "1 release in 3 files: 2 errors", ""},
		"File":       {"a file is told from its neighbours", []string{"bad/other.yaml"}, exitError, "bad/other.yaml:1:1: error: broken YAML", "sluice: 1 error, no warnings"},
		"Part":       {"a part of a kustomization is read as that builds it", []string{"overlay/parts/release.yaml"}, exitError, "overlay/parts/release.yaml:6:23: error: spec.strategy.steps[0].replicas", ""},
		"BrokenPart": {"nor can it be fine if that can't be built", []string{"broken/web.yaml"}, exitError, "broken/kustomization.yaml: error: kustomize: ", ""},
		"GitHub":     {"GitHub knows files from the root", []string{"bad/web.yaml", "-o", "github"}, exitError, "::error file=bad/web.yaml,line=13,col=23,title=sluice lint::spec.strategy.steps[0].replica: unknown", ""},
		"Namespace":  {"a source writes into its own namespace", []string{"good", "-n", "other"}, exitError, "its source may only write to other", ""},
		"Shared":     {"and into those that are shared", []string{"good", "-n", "other", "--shared-namespaces=shop"}, exitOK, "", ""},
		"Limit":      {"limits are the controller's", []string{"good", "--git-max-file=64"}, exitError, "the file is too large", ""},
		"Warning":    {"a warning alone is no error", []string{"elsewhere"}, exitOK, "there is no BatchRelease", ""},
		"Strict":     {"unless it is to be one", []string{"elsewhere", "--strict"}, exitError, "there is no BatchRelease", ""},
		"Together":   {"files of one folder are read once", []string{"bad/web.yaml", "bad/other.yaml"}, exitError, "no releases in 2 files: 2 errors", ""},
		"Here":       {"without a path it is the folder one is in, which has none here", nil, exitOK, "there is no BatchRelease", ""},
		"NoFormat":   {"formats are few", []string{"good", "-o", "xml"}, exitUsage, "", "not one of text, json, github"},
		"NotThere":   {"what is not there can't be read", []string{"bath"}, exitError, "", "no such file"},
		"SluicesOwn": {"nothing of Sluice's own is a manifest", []string{".git/../.sluice"}, exitError, "", "no such file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"lint"}
			for _, arg := range tc.args {
				if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(args[len(args)-1], "-") {
					arg = filepath.Join(root, arg)
				}
				args = append(args, arg)
			}
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), args, &stdout, &stderr); code != tc.code {
				t.Errorf("%s: want exit code %d, got %d: %s%s", tc.reason, tc.code, code, stdout.String(), stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: want %q and %q, got %q and %q", tc.reason, tc.stdout, tc.stderr, stdout.String(), stderr.String())
			}
		})
	}
}
