package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestStatus: the exit code tells how a release ended, and a line each how it came there.
func TestStatus(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	s.deploy("web")
	if got := s.ok(viewer, "status"); got != "web: all pods run revision "+s.await("web", "there", always).Status.UpdateRevision+"\n" {
		t.Errorf("want one line for a release that is at its end, got %q", got)
	}
	s.push("web", 2, secondCommit)
	s.awaitGate("web")
	if got := s.as(viewer, "status", "--timeout=1ms"); got.code != exitUnderWay {
		t.Errorf("want exit code %d when the time is up, got %d: %s", exitUnderWay, got.code, got.stderr)
	}
	within := time.Second
	cptest.Eventually(t, soon, func() error { // on a busy machine nothing may have been read before the time is up
		within *= 2
		got := s.as(viewer, "status", "--timeout="+within.String())
		if n := strings.Count(got.stdout+got.stderr, "waiting for gate: manual"); n > 1 {
			t.Fatalf("want what it waits for said once, got %+v", got)
		} else if n == 0 {
			return fmt.Errorf("want what it waits for said within %s, got %+v", within, got)
		}
		return nil
	})
	got := s.as(viewer, "status", "web", "--watch=false")
	if got.code != exitUnderWay {
		t.Errorf("want exit code %d for a release at a gate, got %d", exitUnderWay, got.code)
	}
	s.want(got.stdout, "web: batch 1/2 done with 1 pod of 4, waiting for gate: manual\n")

	said, _ := s.start(viewer, "status", "web")
	said.await(s, "waiting for gate: manual\n")
	s.confirm("web")
	said.await(s, "web: all pods run revision")

	s.ok(viewer, "status", "web", "--commit="+secondCommit)
	awaited, end := s.start(viewer, "status", "web", "--commit=3333333")
	awaited.await(s, "web: no release of commit 3333333 is known\n")
	s.push("web", 3, "3333333333")
	s.awaitGate("web")
	awaited.await(s, "waiting for gate: manual\n")
	s.ok(viewer, "status", "web", "--commit="+secondCommit)
	s.patch("web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.RollbackAnnotation: "true"}}})
	if got := s.as(viewer, "status", "web"); got.code != exitRolledBack {
		t.Errorf("want exit code %d for a release that was rolled back, got %d: %s%s", exitRolledBack, got.code, got.stdout, got.stderr)
	}
	awaited.await(s, "release web was rolled back\n")
	if code := end(); code != exitRolledBack {
		t.Errorf("want exit code %d of the commit that was waited for, too, got %d", exitRolledBack, code)
	}
	s.push("web", 4, "4444444444")
	overtaken, end := s.start(viewer, "status", "web", "--commit=4444444444")
	overtaken.await(s, "waiting for gate: manual\n")
	s.push("web", 5, "5555555555")
	overtaken.await(s, "another commit took the place of 4444444444")
	if code := end(); code != exitOvertaken {
		t.Errorf("want exit code %d of a commit that was overtaken, got %d", exitOvertaken, code)
	}
	if got := s.as(viewer, "status", "web", "--commit=4444444444", "--timeout=1m"); got.code != exitOvertaken {
		t.Errorf("want exit code %d however late it is asked for, got %d: %s%s", exitOvertaken, got.code, got.stdout, got.stderr)
	}
	s.patch("web", map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": nil}}}})
	if got := s.as(viewer, "status", "web", "--timeout=1m"); got.code != exitFailed {
		t.Errorf("want exit code %d for what can't be released, got %d: %s%s", exitFailed, got.code, got.stdout, got.stderr)
	}
	if got := s.as(viewer, "status", "api"); got.code != exitError {
		t.Errorf("want exit code %d for a release that is not there, got %d", exitError, got.code)
	}
}

func always(*v1alpha1.BatchReleaseStatus) bool { return true }

// confirm passes a manual gate as a person does with kubectl.
func (s *shop) confirm(name string) {
	s.Helper()
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"currentStepState":"Completed"}}`))
	if err := s.client.Status().Patch(s.Context(), release, patch, client.FieldOwner("kubectl-patch")); err != nil {
		s.Fatalf("confirm gate: %v", err)
	}
}
