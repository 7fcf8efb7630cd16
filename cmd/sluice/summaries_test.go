package main

import (
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestSummariesAfterDrift: a release whose Deployment somebody has changed out of band is not shown as completed.
func TestSummariesAfterDrift(t *testing.T) {
	t.Parallel()
	s, viewer := newShopAtGate(t)
	s.confirm("web")
	s.await("web", "completed", isCompleted)

	s.setImage("web", "web:hotfix")
	s.await("web", "drifted, with no pod left of what was released", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Reason == v1alpha1.ReasonDrifted && status.UpdatedReplicas == 0
	})
	s.want(s.columns(viewer, "list"), "web|Drifted|2/2|0/4|0/4|<none>|2|2222222|")
	listed := cptest.Kubectl(t, "get", "batchreleases", "--namespace", s.namespace, "--no-headers", "-o", "wide")
	if row := strings.Fields(listed); len(row) < 8 || row[6] != "0" || row[7] != "0" {
		t.Errorf("want kubectl to say that 0 pods are updated, and 0 of them available, got %q", listed)
	}
	// The native controller may be at the last pods.
	s.awaitOutput(viewer, []string{"get"}, "✖ batchrelease/web  Drifted: the Deployment was changed",
		"changed out of band, web:hotfix: 4 of 4 pods available", "new, web:2: 0 of 0 pods")
	got := s.as(viewer, "status", "web", "--watch=false")
	if got.code != exitDrifted {
		t.Errorf("want exit code %d, got %d: %s%s", exitDrifted, got.code, got.stdout, got.stderr)
	}
	s.want(got.stderr, "the Deployment was changed out of band")

	s.setImage("web", "web:2")
	s.await("web", "as it was released", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Reason == v1alpha1.ReasonCompleted && status.UpdatedReplicas == 4
	})
	s.ok(viewer, "status", "web")
}

// TestSummariesAfterChangePastGit: while all pods run what was released, nobody is told that they don't.
func TestSummariesAfterChangePastGit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	s.deploy("web")
	s.patch("web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.GitTemplateAnnotation: "another"}}})
	s.await("web", "changed past Git", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Reason == v1alpha1.ReasonChangedPastGit
	})
	s.want(s.columns(viewer, "list"), "web|Drifted|", "|4/4|4/4|sync|")
	got := s.as(viewer, "status", "web", "--watch=false")
	if want := "sluice: release web completed, and its spec.template has since been changed without Git\n"; got.code != exitDrifted || got.stderr != want {
		t.Errorf("want exit code %d and %q, got %d and %q", exitDrifted, want, got.code, got.stderr)
	}
}

// TestSummariesAfterRollback: a release that was rolled back is not shown as released.
func TestSummariesAfterRollback(t *testing.T) {
	t.Parallel()
	s, viewer := newShopAtGate(t)
	s.patch("web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.RollbackAnnotation: "true"}}})
	s.await("web", "rolled back", isCompleted)

	s.want(s.columns(viewer, "list"), "web|RolledBack|", "|2222222|")
	s.awaitOutput(viewer, []string{"get"}, "✖ batchrelease/web  RolledBack: ", "commit 2222222",
		"rolled back: web: version 2, by Ada", "restored, web:1: 4 of 4 pods available")

	const followed = "4444444444aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	s.push("web", 1, followed) // as the merge of the pull request of the revert
	s.await("web", "what Git says", func(status *v1alpha1.BatchReleaseStatus) bool { return status.Commit == followed })
	s.want(s.columns(viewer, "list"), "web|Completed|", "|4444444|")
	if told := s.ok(viewer, "get"); strings.Contains(told, "RolledBack") || strings.Contains(told, "rolled back:") {
		t.Errorf("Git has followed, and still it is rolled back:\n%s", told)
	}
	s.ok(viewer, "status", "web")
	if got := s.as(viewer, "status", "web", "--commit="+secondCommit); got.code != exitRolledBack {
		t.Errorf("want exit code %d of the commit that was rolled back, got %d: %s%s", exitRolledBack, got.code, got.stdout, got.stderr)
	}
}

// TestHistoryKeepsAuthors: who wrote what was rolled back by a newer commit is in the history.
func TestHistoryKeepsAuthors(t *testing.T) {
	t.Parallel()
	s, viewer := newShopAtGate(t)
	s.push("web", 1, "3333333333aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	s.await("web", "back at version 1", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Phase == v1alpha1.PhaseCompleted && status.Rollback != nil
	})
	s.want(s.columns(viewer, "history"), "|web:2|RolledBack|<none>|<none>|2222222|Ada <ada@example.com>|<none>|web: version 2")
}

// newShopAtGate has version 2 released, which waits at its gate, and somebody who sees it.
func newShopAtGate(t *testing.T) (s *shop, viewer string) {
	t.Helper()
	s = newShop(t)
	s.deploy("web")
	s.push("web", 2, secondCommit)
	s.awaitGate("web")
	return s, s.viewer()
}

func isCompleted(status *v1alpha1.BatchReleaseStatus) bool {
	return status.Phase == v1alpha1.PhaseCompleted
}

// columns is a table as it is printed, with its cells parted by bars.
func (s *shop) columns(user string, args ...string) string {
	s.Helper()
	return regexp.MustCompile(` {2,}`).ReplaceAllString(s.ok(user, args...), "|")
}

// setImage changes the Deployment out of band.
func (s *shop) setImage(name, image string) {
	s.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	patch := s.encode(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []corev1.Container{{Name: name, Image: image}},
	}}}})
	if err := s.client.Patch(s.Context(), deployment, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner("kubectl-set")); err != nil {
		s.Fatalf("set image: %v", err)
	}
}
