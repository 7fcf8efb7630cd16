package spec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
)

// attacks returns kustomizations that would have something fetched or run, or read what is not
// theirs, in every form that kustomize knows; %s is an address that listens.
func attacks() []string {
	addresses := []string{
		"%s/x.yaml", "%s/a/b?ref=main", "git::%s/a/b", "git::%s/a/b//c?ref=--upload-pack=sh", "ssh://git@127.0.0.1:1/a/b", "git@127.0.0.1:a/b.git",
		"file:///nonexistent?ref=--upload-pack=touch%%20mark%%3Bfalse", "github.com/a/b", "../../evil", "/evil", "../evil", "../../../evil//x", "x=%s/x.yaml",
	}
	forms := []string{
		"resources: [%q]", "bases: [%q]", "components: [%q]", "crds: [%q]", "configurations: [%q]", "generators: [%q]", "transformers: [%q]",
		"validators: [%q]", "openapi: {path: %q}", "patches: [{path: %q}]", "patchesStrategicMerge: [%q]", "patchesJson6902: [{target: {version: v1, kind: X, name: x}, path: %q}]",
		"replacements: [{path: %q}]", "configMapGenerator: [{name: x, files: [%q]}]", "configMapGenerator: [{name: x, envs: [%q]}]", "secretGenerator: [{name: x, env: %q}]",
		"helmCharts: [{name: x, repo: %q}]", "helmChartInflationGenerator: [{chartName: x, chartRepoUrl: %q}]", "helmGlobals: {chartHome: %q}",
	}
	all := []string{
		"generators:\n- |-\n  apiVersion: x/v1\n  kind: X\n  metadata: {name: x, annotations: {config.kubernetes.io/function: \"exec: {path: sh}\"}}\n",
		"transformers:\n- |-\n  apiVersion: x/v1\n  kind: X\n  metadata: {name: x, annotations: {config.kubernetes.io/function: \"container: {image: x}\"}}\n",
		"buildMetadata: [originAnnotations, transformerAnnotations, managedByLabel]\nresources: [../evil]\n",
		"resources: [../../evil]\nreplacements:\n- source: {kind: ConfigMap, name: loot, fieldPath: data.v}\n  targets: [{select: {kind: Deployment}, fieldPaths: [spec.template.metadata.annotations.loot], options: {create: true}}]\n",
	}
	for _, form := range forms {
		for _, address := range addresses {
			all = append(all, fmt.Sprintf(form, address))
		}
	}
	return all
}

// traps are forbidden targets: an address that counts its requests, and programs in the path that
// leave a mark.
type traps struct {
	url    string
	visits *atomic.Int32
	marks  string
}

func setTraps(tb testing.TB) *traps {
	tb.Helper()
	path, marks := tb.TempDir(), tb.TempDir()
	for _, name := range []string{"git", "helm", "sh", "bash", "go", "docker"} {
		script := "#!/bin/sh\n: > " + filepath.Join(marks, name) + "\n"
		if err := os.WriteFile(filepath.Join(path, name), []byte(script), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Setenv("PATH", path)
	url, visits := listener(tb)
	return &traps{url, visits, marks}
}

func (s *traps) check(tb testing.TB, what string) {
	tb.Helper()
	marks, err := os.ReadDir(s.marks)
	if err != nil || len(marks) > 0 || s.visits.Load() > 0 {
		tb.Fatalf("%d requests, and %v was run (%v), by %q", s.visits.Load(), marks, err, what)
	}
}

// FuzzSandbox: a repository's kustomizations fetch nothing and run nothing. Every second build
// omits the check of references, so that the process itself has to hold, too.
func FuzzSandbox(f *testing.F) {
	if testing.Short() {
		f.Skip("starts a process or two for each of hundreds of attacks")
	}
	traps := setTraps(f)
	for _, attack := range attacks() {
		f.Add(attack, attack)
	}
	f.Fuzz(func(t *testing.T, app, evil string) {
		place := func(text string) []byte { return []byte(strings.ReplaceAll(text, "%s", traps.url)) }
		files := fstest.MapFS{
			"app/kustomization.yaml":    {Data: place(app)},
			"evil/kustomization.yaml":   {Data: place(evil)},
			"app/in/kustomization.yaml": {Data: place(evil)},
			"app/release.yaml":          {Data: []byte(release("web", strategy))},
			"app/deploy.yaml":           {Data: []byte(deployment("web", "web:1"))},
		}
		result, err := newTestReader().Read(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, release := range result.Releases {
			if strings.Contains(fmt.Sprint(release.Object()), "secret-of-the-node") {
				t.Error("a release holds what was fetched")
			}
		}
		if _, err := unchecked(files); err != nil {
			t.Logf("alone: %v", err)
		}
		traps.check(t, app+"\n---\n"+evil)
	})
}

// unchecked builds a kustomization in the sandbox as if nobody had looked at its references.
func unchecked(files fstest.MapFS) ([]byte, error) {
	input := "unchecked"
	for name, file := range files {
		input += "\x00" + name + "\x00" + string(file.Data)
	}
	return builds.For(context.Background(), sandbox.Owner{Tenant: "unchecked"}).Build([]byte(input))
}
