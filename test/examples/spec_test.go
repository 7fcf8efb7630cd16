package examples_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/examples"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// TestTheSampleIsOneRelease reads examples/repo as gitsync does.
func TestTheSampleIsOneRelease(t *testing.T) {
	t.Parallel()
	repo, err := examples.Repo()
	if err != nil {
		t.Fatal(err)
	}
	result, err := spec.NewReader(spec.Options{Namespace: "shop"}).Read(repo, ".")
	if err != nil {
		t.Fatal(err)
	}
	release := onlyRelease(t, result)
	template, found, err := unstructured.NestedMap(release.Object().Object, "spec", "template", "spec")
	if err != nil || !found || len(template) == 0 {
		t.Errorf("the template must be that of the Deployment's manifest: found %t, %v", found, err)
	}
	if release.Namespace != "shop" || release.Deployment() == nil {
		t.Errorf("release and Deployment must be those of the source's namespace: got namespace %q, Deployment %v", release.Namespace, release.Deployment())
	}
}

// TestEachReleaseCanBeGivenInGit reads each of examples/releases next to the sample's Deployment.
func TestEachReleaseCanBeGivenInGit(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("releases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there must be releases: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			repo := fstest.MapFS{"release.yaml": fileOf(t, file), "deployment.yaml": fileOf(t, "repo/deployment.yaml")}
			result, err := spec.NewReader(spec.Options{Namespace: "shop"}).Read(repo, ".")
			if err != nil {
				t.Fatal(err)
			}
			onlyRelease(t, result)
		})
	}
}

func onlyRelease(t *testing.T, result *spec.Result) *spec.Release {
	t.Helper()
	if len(result.Releases) != 1 || len(result.Errors) != 0 {
		t.Fatalf("want one release and no error: got %d and %v", len(result.Releases), result.Errors)
	}
	return result.Releases[0]
}

func fileOf(t *testing.T, path string) *fstest.MapFile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: data}
}
