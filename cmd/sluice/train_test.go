package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// trainFile returns a train of two services in a version, and a third that it leaves alone.
func trainFile(version int) string {
	file := `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: shop}
spec:
  members:
  - name: db
  - name: services
    selector: {tier: frontend}
    after: [{member: db, reached: 1}]
  strategy:
    lockstep: {maxSkew: 0}
    steps:
    - replicas: 1
      gates: [{manual: {}}]
    - replicas: 100%
`
	for _, name := range []string{"db", "web", "api"} {
		image := fmt.Sprintf("%s:%d", name, version)
		if name == "api" {
			image = "api:1"
		}
		file += fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: %[1]s, image: "%[2]s"}]}
---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: %[1]s, labels: {tier: %[3]s}}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  strategy: {}
`, name, image, map[bool]string{true: "data", false: "frontend"}[name == "db"])
	}
	return file
}

// train makes a shop whose source has a train at version 1, and returns how to release another one.
func (s *shop) train() func(version int) {
	s.Helper()
	operator, repository := s.person("operator", "sluice-operator"), s.T.TempDir()
	s.git(repository, "init", "--quiet", "--initial-branch=main")
	s.commit(repository, "shop.yaml", trainFile(1))
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "git"}}
	source.Spec.URL = "file://" + repository
	source.Spec.Interval.Duration = 24 * time.Hour
	s.create(source)
	for _, name := range []string{"db", "web", "api", "shop"} {
		s.await(name, "completed", func(status *v1alpha1.BatchReleaseStatus) bool { return status.Phase == v1alpha1.PhaseCompleted })
	}
	return func(version int) {
		s.commit(repository, "shop.yaml", trainFile(version))
		s.ok(operator, "sync", "git")
	}
}

// TestTrain: people see a train with its members, and a member with its train; verbs on the train
// are about all members.
func TestTrain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	release := s.train()
	viewer, approver := s.viewer(), s.person("approver", "sluice-approver", "sluice-operator", "sluice-viewer", "view")
	s.ok(viewer, "status", "shop")
	release(2)
	s.awaitGate("shop")
	s.await("web", "held by its train", func(status *v1alpha1.BatchReleaseStatus) bool { return status.State == v1alpha1.StateWaitingForTrain })

	got := s.ok(viewer, "get", "shop")
	s.want(got, "batchrelease/shop  Waiting: batch 1/2 done", "members", "2 of 3 members in the last run",
		"◷ batchrelease/db", "1 of 2 steps done, Waiting: batch 1/2 is done, waiting for train shop", "unchanged", "gate/shop-")
	if strings.Contains(got, "not found") || strings.Contains(got, "/  ") {
		t.Errorf("want no workload of a train, got:\n%s", got)
	}
	s.want(s.ok(viewer, "get", "db"), "train/shop", "deployment/db")
	s.want(s.ok(viewer, "list", "-o", "wide"), "3 members", "deployment/db", "train/shop")
	if got := s.as(viewer, "status", "shop", "--watch=false"); got.code != exitUnderWay {
		t.Errorf("want exit code %d for a train at a gate, got %d", exitUnderWay, got.code)
	}
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"approve", "db"}, "the gates of db are those of its train: sluice approve shop"},
		{[]string{"jump", "shop", "2"}, "a train does not jump"},
		{[]string{"jump", "db", "2"}, "it is a member of train shop"},
		{[]string{"rollback", "shop", "--to", "3f2a91c"}, "name no revision"},
		{[]string{"retry", "shop"}, "there is nothing to try again"},
	} {
		if got := s.as(approver, tc.args...); got.code != exitError || !strings.Contains(got.stderr, tc.says) {
			t.Errorf("sluice %s: want %q, got %d: %s", strings.Join(tc.args, " "), tc.says, got.code, got.stderr)
		}
	}
	s.want(s.ok(approver, "rollback", "db", "--dry-run=client"), "and with it the members of train shop that are released together")
	s.want(s.ok(approver, "pause", "shop"), "paused")
	s.want(s.ok(viewer, "list"), "resume")
	s.want(s.ok(approver, "resume", "shop"), "resumed")
	s.ok(approver, "approve", "shop")
	s.ok(viewer, "status", "shop", "--timeout=2m")

	s.want(s.ok(approver, "rollback", "shop"), "returning: 2 members")
	if got := s.as(viewer, "status", "shop", "--timeout=2m"); got.code != exitRolledBack {
		t.Errorf("want exit code %d for a train that was rolled back, got %d: %s%s", exitRolledBack, got.code, got.stdout, got.stderr)
	}
	if got := s.as(viewer, "status", "db", "--timeout=2m"); got.code != exitRolledBack {
		t.Errorf("want exit code %d for its member, got %d: %s%s", exitRolledBack, got.code, got.stdout, got.stderr)
	}
	s.want(s.ok(viewer, "history", "shop"), "Released", "RolledBack")
	s.want(s.ok(viewer, "get", "shop"), "returned, RolledBack")
	release(3)
	s.awaitGate("shop")
	s.want(s.ok(approver, "reject", "shop", "--reason=errors"), "rejected")
	if got := s.as(viewer, "status", "shop", "--timeout=2m"); got.code != exitRejected {
		t.Errorf("want exit code %d for a train with a rejected gate, got %d: %s%s", exitRejected, got.code, got.stdout, got.stderr)
	}
}

// TestSimulateTrain: a train is played with its members, and a member alone with the gates of its
// train.
func TestSimulateTrain(t *testing.T) {
	t.Parallel()
	folder := writeFiles(t, map[string]string{"shop.yaml": trainFile(1)})
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"simulate", folder}, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), "3 members released") {
		t.Errorf("want exit code 0 and the end of the run, got %d: %s%s", code, stdout.String(), stderr.String())
	}
	stdout.Reset()
	if code := run(t.Context(), []string{"simulate", folder, "--release=db"}, &stdout, &stderr); code != exitOK {
		t.Errorf("want exit code 0, got %d: %s", code, stderr.String())
	}
	for _, want := range []string{"(manual)", "all pods run revision v2", "note: train shop is left out"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("want %q, got:\n%s", want, stdout.String())
		}
	}
}
