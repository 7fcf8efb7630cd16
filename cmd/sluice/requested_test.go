package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestWhoRequested: a release names who paused it, resumed it and rolled it back, nobody does that
// in the name of another, and what is requested without a name has none.
func TestWhoRequested(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guard()
	ada, grace := s.person("ada", "view", "sluice-operator"), s.person("grace", "view", "sluice-operator")
	s.deploy("web")
	s.push("web", 2, secondCommit)
	s.awaitGate("web")
	entry := func(kind v1alpha1.LogType, by string) func(*v1alpha1.BatchReleaseStatus) bool {
		return func(status *v1alpha1.BatchReleaseStatus) bool {
			return slices.ContainsFunc(status.Log, func(e v1alpha1.LogEntry) bool { return e.Type == kind && e.By == by })
		}
	}
	s.ok(ada, "pause", "web")
	s.await("web", "paused by ada", entry(v1alpha1.LogStopped, ada))

	forged := func(change string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}%s}`, v1alpha1.RequestedByAnnotation, ada, change)
	}
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"}}
	for _, patch := range []string{
		forged(`,"spec":{"suspend":false}`), forged(""),
		fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,"rollback":"true"}}}`, v1alpha1.RequestedByAnnotation, ada),
	} {
		err := s.clientAs(grace).Patch(t.Context(), release.DeepCopy(), merge(patch), dryRunAll)
		if err == nil || !strings.Contains(err.Error(), "nobody requests something in the name of another") {
			t.Errorf("%s as grace: want it refused, got %v", patch, err)
		}
	}
	made := release.DeepCopy()
	made.Name, made.Annotations = "made", map[string]string{v1alpha1.RequestedByAnnotation: ada}
	made.Spec = s.release("web").Spec
	if err := s.client.Create(t.Context(), made, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "in the name of another") {
		t.Errorf("create in the name of ada: want it refused, got %v", err)
	}

	s.ok(grace, "resume", "web")
	s.await("web", "resumed by grace", entry(v1alpha1.LogResumed, grace))
	s.awaitGate("web")
	if err := s.clientAs(ada).Patch(t.Context(), release.DeepCopy(), merge(`{"metadata":{"annotations":{"rollback":"true"}}}`)); err != nil {
		t.Fatalf("roll back as kubectl does: %v", err)
	}
	back := s.await("web", "rolled back", entry(v1alpha1.LogRollbackStarted, ""))
	if back.Status.Rollback == nil || back.Status.Rollback.By != "" {
		t.Errorf("want nobody named, got %+v", back.Status.Rollback)
	}
	s.await("web", "at its end", func(status *v1alpha1.BatchReleaseStatus) bool { return status.Phase == v1alpha1.PhaseCompleted })
	s.push("web", 3, "3333333333aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	s.awaitGate("web")
	s.ok(ada, "rollback", "web")
	named := s.await("web", "rolled back by ada", entry(v1alpha1.LogRollbackStarted, ada))
	if named.Status.Rollback == nil || named.Status.Rollback.By != ada {
		t.Errorf("want ada named, got %+v", named.Status.Rollback)
	}
	// The history of what goes on is written by and by.
	s.awaitOutput(grace, []string{"history", "web"}, "Stopped: paused, by "+ada, "Resumed: no longer paused, by "+grace, "by "+ada+": rollback=true was requested")
	s.await("web", "without a name that stays", func(*v1alpha1.BatchReleaseStatus) bool {
		_, stays := s.release("web").Annotations[v1alpha1.RequestedByAnnotation]
		return !stays
	})
	s.wantWellTyped()
}
