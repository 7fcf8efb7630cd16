package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// gitRelease is the manifest of a release of a Deployment that is there, with a template of its
// own.
const gitRelease = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy: {steps: [{replicas: 100%}]}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
`

// TestRefusedInGit: list, get and status say that the newest commit is not applied to a release,
// status in its exit code, until it is applied.
func TestRefusedInGit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer, operator := s.viewer(), s.person("operator", "view", "sluice-operator")
	s.deploy("web")
	repository := t.TempDir()
	s.git(repository, "init", "--quiet", "--initial-branch=main")
	push := func(text string) { s.commit(repository, "web.yaml", text) }
	push(gitRelease)
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "shop"}}
	source.Spec.URL = "file://" + repository
	source.Spec.Interval.Duration = 24 * time.Hour // the test says when to look
	s.create(source)
	s.ok(operator, "sync", "shop")
	s.ok(viewer, "status", "web", "--timeout=2m")

	push(strings.Replace(gitRelease, "strategy:", "strategyy:", 1))
	bad := s.head(repository)
	awaited, end := s.start(viewer, "status", "web", "--commit="+bad)
	awaited.await(s, "no release of commit")
	s.as(operator, "sync", "shop")
	awaited.await(s, "is not applied to release web: web.yaml:6: ")
	if code := end(); code != exitRefused {
		t.Errorf("want exit code %d for the commit that is refused, and where, got %d: %s", exitRefused, code, awaited.String())
	}
	for _, flag := range []string{"--watch=false", "--watch"} {
		if got := s.as(viewer, "status", "web", flag); got.code != exitRefused || !strings.Contains(got.stderr, "strategyy") {
			t.Errorf("want exit code %d with %s, and why, got %+v", exitRefused, flag, got)
		}
	}
	s.want(s.ok(viewer, "list"), "Refused", "fix in Git")
	s.want(s.ok(viewer, "get", "web"), "batchrelease/web  Refused: ")

	push(gitRelease)
	s.ok(operator, "sync", "shop")
	s.want(s.ok(viewer, "list"), "Completed")
	s.ok(viewer, "status", "web", "--timeout=2m")
}

// head returns the newest commit of a repository.
func (s *shop) head(folder string) string {
	s.Helper()
	command := exec.CommandContext(s.Context(), "git", "rev-parse", "HEAD")
	command.Dir = folder
	out, err := command.Output()
	if err != nil {
		s.Fatalf("git rev-parse: %v", err)
	}
	return strings.TrimSpace(string(out))
}
