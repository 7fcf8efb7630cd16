package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestApprove: who may approve does, by name, and the next batch starts; who may not gets an error
// that says so.
func TestApprove(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guard()
	approver, viewer := s.person("approver", "sluice-approver"), s.viewer()
	s.deploy("web")
	if got := s.as(approver, "approve", "web"); got.code != exitError {
		t.Errorf("want exit code %d where there is nothing to approve, got %d", exitError, got.code)
	} else {
		s.want(got.stderr, "batchrelease/web: there is nothing to approve: all pods run revision")
	}
	s.push("web", 2, secondCommit)
	gate := s.gateOf(s.awaitGate("web"))
	s.want(s.as(viewer, "approve", "web").stderr, `cannot patch resource "batchreleases/status"`)
	s.want(s.as(approver, "approve", "web", "--force", "--reason=INC-42").stderr, `cannot patch resource "gates/status"`)
	s.want(s.as(approver, "approve", "web", "--gate=soak").stderr, `no gate "soak" is open; the release waits for `+gate.Name+" (manual)")
	s.wantRefused(approver, s.release("web"), fmt.Sprintf(`{"status":{"answers":[{"gate":%q,"verdict":"Approve","by":"grace"}]}}`, gate.UID),
		`status.answers[].by must be "`+approver+`"`)
	if err := s.readStatus(approver, s.release("web")); err != nil {
		t.Errorf("kubectl patch --subresource=status reads what it patches: %v", err)
	}
	s.wantRefused(approver, s.release("web"), `{"status":{"forced":[{"step":0,"type":"manual","by":"grace","reason":"none"}]}}`, "only the controller writes status.forced; ")

	if got, want := s.ok(approver, "approve", "web", "--dry-run=server"), "batchrelease.rollouts.sluice.dev/web approved (server dry run)\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	if got, want := s.ok(approver, "approve", "-m", "looks well"), "batchrelease.rollouts.sluice.dev/web approved\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	done := s.await("web", "at version 2", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Phase == v1alpha1.PhaseCompleted && status.Commit == secondCommit
	})
	if len(done.Status.Answers) > 0 {
		t.Errorf("want no answers left, got %+v", done.Status.Answers)
	}
	s.want(s.ok(viewer, "history", "web", "--revision=2"), approver)
}

// TestReject: a no stops the release for good.
func TestReject(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	approver := s.person("approver", "sluice-approver")
	s.deploy("web")
	s.push("web", 2, secondCommit)
	s.awaitGate("web")
	if got := s.as(approver, "reject", "web"); got.code != exitUsage {
		t.Errorf("want a reason asked for, got exit code %d: %s", got.code, got.stderr)
	}
	if got, want := s.ok(approver, "reject", "br/web", "--reason=errors"), "batchrelease.rollouts.sluice.dev/web rejected\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	release := s.await("web", "rejected", func(status *v1alpha1.BatchReleaseStatus) bool { return status.Reason == v1alpha1.ReasonGateRejected })
	s.want(release.Status.Message, "rejected by "+approver+": errors")
	got := s.as(approver, "approve", "web")
	s.want(got.stderr, "is final: rejected by "+approver+": errors; release another template, or roll back")
	if got.code != exitError {
		t.Errorf("want exit code %d for a gate that is rejected, got %d", exitError, got.code)
	}
}

// TestForce: a gate that nobody can approve is passed by who has the role for it, and it shows ever
// after.
func TestForce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guard()
	approver, rescuer := s.person("approver", "sluice-approver"), s.person("rescuer", "sluice-breakglass")
	s.deploy("web", v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: time.Hour}}})
	s.push("web", 2, secondCommit)
	gate := s.gateOf(s.awaitGate("web"))
	s.want(s.as(approver, "approve", "web").stderr, "there is no manual gate to approve: soak gate: soaks for 1h0m0s, until ")
	s.wantRefused(rescuer, gate, `{"status":{"decision":"Passed"}}`, "only the controller decides a gate")
	s.wantRefused(rescuer, gate, `{"status":{"force":{"by":"grace","reason":"INC-42"}}}`, `status.force.by must be "`+rescuer+`"`)
	if got := s.as(rescuer, "approve", "web", "--force"); got.code != exitUsage {
		t.Errorf("want a reason asked for, got exit code %d: %s", got.code, got.stderr)
	}

	got := s.ok(rescuer, "approve", "web", "--force", "--gate=soak", "--reason=INC-42", "-o", "yaml")
	s.want(got, "kind: Forced", "actor: "+rescuer, "detail: INC-42", "decision: Passed")
	done := s.await("web", "at version 2", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Phase == v1alpha1.PhaseCompleted && status.Commit == secondCommit
	})
	if len(done.Status.Forced) != 1 || done.Status.Forced[0].By != rescuer || done.Status.Forced[0].Reason != "INC-42" {
		t.Errorf("want the release to say what was forced, got %+v", done.Status.Forced)
	}
	s.want(s.ok(s.viewer(), "history", "web", "--revision=2"), rescuer+" (forced)", "soak gate of batch 1 by "+rescuer+": INC-42")
	cptest.Eventually(t, soon, func() error {
		events := cptest.Kubectl(t, "get", "events", "--namespace", s.namespace)
		if !strings.Contains(events, "soak gate after batch 1: forced by "+rescuer+": INC-42") {
			return fmt.Errorf("want an event that says who forced what, got:\n%s", events)
		}
		return nil
	})
}

// gateOf returns the one that a release waits for.
func (s *shop) gateOf(release *v1alpha1.BatchRelease) *v1alpha1.Gate {
	s.Helper()
	var gate v1alpha1.Gate
	if err := s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: release.Status.Gates[0].Name}, &gate); err != nil {
		s.Fatalf("read gate: %v", err)
	}
	return &gate
}

// release reads one.
func (s *shop) release(name string) *v1alpha1.BatchRelease {
	s.Helper()
	var release v1alpha1.BatchRelease
	if err := s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &release); err != nil {
		s.Fatalf("read release: %v", err)
	}
	return &release
}

// readStatus returns the error of a user's read of the status subresource.
func (s *shop) readStatus(user string, object client.Object) error {
	s.Helper()
	return s.clientAs(user).SubResource("status").Get(s.Context(), object, object.DeepCopyObject().(client.Object))
}
