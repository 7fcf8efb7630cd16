package lint_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/cli/lint"
)

// TestImages: an image that no container runtime accepts is an error.
func TestImages(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for image, valid := range map[string]bool{
		"nginx": true, "nginx:1.28": true, "library/nginx:latest": true, "registry.example.com:5000/team/web_api:v1.2-rc.1": true, "web" + digest: true,
		"ghcr.io/a/b__c/d--e:x" + digest: true, "localhost/web": true, "[::1]:5000/web:1": true,
		"nginx::bad tag": false, "nginx: 1": false, "nginx:1.28 ": false, "Nginx:1": false, "nginx:": false, "web@sha256:12": false, "/web": false, "a//b": false,
		"web:" + strings.Repeat("x", 129): false, "https://example.com/web:1": false, "web:1:2": false,
	} {
		report := check(t, map[string]string{"release.yaml": release, "deployment.yaml": strings.Replace(deployment, "nginx:1.28", strconv.Quote(image), 1)})
		if got := report.Count(lint.Error) == 0; got != valid {
			t.Errorf("image %q: valid %t, want %t: %v", image, got, valid, findings(report))
		}
	}
	report := check(t, map[string]string{"release.yaml": release, "deployment.yaml": strings.Replace(deployment, "image: nginx:1.28", "image: 'nginx::bad tag'", 1)})
	want := []string{`deployment.yaml:11:9: error: spec.template.spec.containers[0].image: "nginx::bad tag" is no image reference, such as ` +
		"registry.example.com/web:1.2: pods would fail with InvalidImageName"}
	if diff := cmp.Diff(want, findings(report)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSingleReplica: steps of a workload of one pod do nothing before the last one, which is said.
func TestSingleReplica(t *testing.T) {
	t.Parallel()
	const one = "release.yaml:7:5: warning: spec.strategy.steps: Deployment web has 1 replica: only the last step replaces its pod"
	for replicas, want := range map[string][]string{"1": {one}, "2": nil, "0": nil} {
		report := check(t, map[string]string{"release.yaml": release, "deployment.yaml": strings.Replace(deployment, "spec:\n", "spec:\n  replicas: "+replicas+"\n", 1)})
		if diff := cmp.Diff(want, findings(report)); diff != "" {
			t.Errorf("%s replicas: -want +got:\n%s", replicas, diff)
		}
	}
	unnamed := check(t, map[string]string{"release.yaml": release, "deployment.yaml": deployment})
	if len(unnamed.Notices) != 1 || unnamed.Err(true) != nil || !strings.Contains(unnamed.Notices[0].Message, "names no replicas") {
		t.Errorf("want a notice, got %v", unnamed.Notices)
	}
}

// TestRepositoryOfHelmReleases: a folder without releases says where its workloads come from.
func TestRepositoryOfHelmReleases(t *testing.T) {
	t.Parallel()
	helm := "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\n"
	got := findings(check(t, map[string]string{"a.yaml": helm, "k/kustomization.yaml": "resources: [b.yaml]", "k/b.yaml": helm}))
	want := []string{".:0:0: warning: there is no BatchRelease: nothing here is released. The workloads come from 2 HelmReleases, whose charts Sluice does not render: " +
		"commit what they make, see docs/repositories.md#helm-charts"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
