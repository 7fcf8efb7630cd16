package examples_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/cli/lint"
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
	if release.Namespace != "shop" || release.WorkloadObject() == nil {
		t.Errorf("release and Deployment must be those of the source's namespace: got namespace %q, Deployment %v", release.Namespace, release.WorkloadObject())
	}
}

// TestEachKindHasASample reads the folders of the other kinds as gitsync does, and looks at them as
// lint does.
func TestEachKindHasASample(t *testing.T) {
	t.Parallel()
	for folder, kind := range map[string]string{"statefulset": "StatefulSet", "daemonset": "DaemonSet"} {
		files := os.DirFS(folder)
		options := spec.Options{Namespace: "shop"}
		result, err := spec.NewReader(options).Read(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		release := onlyRelease(t, result)
		if release.WorkloadKind != kind || !release.HasWorkload() {
			t.Errorf("%s must have a release of its %s: got %s %s, in the repository %t", folder, kind, release.WorkloadKind, release.Workload, release.HasWorkload())
		}
		report, err := lint.Check(files, ".", options, nil)
		if err != nil || len(report.Findings) > 0 {
			t.Errorf("%s: lint finds %v, %v", folder, report, err)
		}
	}
}

// TestOneRepositoryOfAllKinds reads examples/kinds as gitsync does, and looks at it as lint does.
func TestOneRepositoryOfAllKinds(t *testing.T) {
	t.Parallel()
	repo, err := examples.Kinds()
	if err != nil {
		t.Fatal(err)
	}
	options := spec.Options{Namespace: "shop"}
	result, err := spec.NewReader(options).Read(repo, ".")
	if err != nil || len(result.Errors) > 0 {
		t.Fatalf("read the sample: %v, %v", err, result.Errors)
	}
	kinds := map[string]string{}
	for _, release := range result.Releases {
		if !release.IsTrain() {
			kinds[release.Workload] = release.WorkloadKind
		}
	}
	want := map[string]string{"web": "Deployment", "db": "StatefulSet", "agent": "DaemonSet"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("each kind has a release (-want +got):\n%s", diff)
	}
	report, err := lint.Check(repo, ".", options, nil)
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("lint finds %v, %v", report, err)
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
