package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/gitsync/spec"
)

// readManifests reads a folder as Sluice reads a repository.
func readManifests(t *testing.T, dir string) *spec.Result {
	t.Helper()
	result, err := spec.NewReader(spec.Options{Namespace: namespace}).Read(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestManifestsAreWhatSluiceReads: the generated manifests have a release for every tenth
// Deployment, the given number of files, and no mistake.
func TestManifestsAreWhatSluiceReads(t *testing.T) {
	t.Parallel()
	cases := []struct {
		reason           string
		number, releases int
	}{
		{"nothing", 0, 0},
		{"a release without its Deployment would be a mistake", 1, 0},
		{"one release", 2, 1},
		{"a Deployment that there is no room for a release next to", 12, 1},
		{"the second release", 13, 2},
		{"more than one folder", 121, 11},
	}
	for _, tc := range cases {
		t.Run(fmt.Sprint(tc.number), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := writeManifests(dir, tc.number); err != nil {
				t.Fatal(err)
			}
			result := readManifests(t, dir)
			if len(result.Errors) > 0 {
				t.Errorf("%s: want no errors, got %v", tc.reason, result.Errors)
			}
			if result.Files != tc.number || len(result.Releases) != tc.releases {
				t.Errorf("%s: want %d files and %d releases, got %d and %d",
					tc.reason, tc.number, tc.releases, result.Files, len(result.Releases))
			}
			for _, r := range result.Releases {
				if !r.HasWorkload() || r.Workload != r.Name || r.Namespace != namespace {
					t.Errorf("%s/%s in %s must be of the Deployment next to it, got one of %q", r.Namespace, r.Name, r.File, r.Workload)
				}
			}
		})
	}
}

// TestChangedManifestIsARelease: another version of a Deployment's file is another template of
// its release, and of nothing else.
func TestChangedManifestIsARelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeManifests(dir, 15); err != nil {
		t.Fatal(err)
	}
	before := readManifests(t, dir).Releases
	if err := writeFile(filepath.Join(dir, deploymentFile(0)), deploymentManifest(appName(0), 2)); err != nil {
		t.Fatal(err)
	}
	after := readManifests(t, dir).Releases
	digest := func(r *spec.Release) string { return r.TemplateDigest }
	was, is := of(before, digest), of(after, digest)
	if len(was) != 2 || len(is) != 2 || was[0] == is[0] || was[1] != is[1] {
		t.Errorf("want the first template of two to change, got %q and then %q", was, is)
	}
	if diff := cmp.Diff([]string{image(1), image(1)}, of(before, imageOf(t))); diff != "" {
		t.Errorf("images at first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{image(2), image(1)}, of(after, imageOf(t))); diff != "" {
		t.Errorf("images after the change (-want +got):\n%s", diff)
	}
}

// imageOf finds the image in the template that a release applies.
func imageOf(t *testing.T) func(*spec.Release) string {
	return func(r *spec.Release) string {
		t.Helper()
		given, _, err := unstructured.NestedMap(r.Object().Object, "spec", "template")
		if err != nil {
			t.Fatal(err)
		}
		var template corev1.PodTemplateSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(given, &template); err != nil {
			t.Fatal(err)
		}
		return template.Spec.Containers[0].Image
	}
}
