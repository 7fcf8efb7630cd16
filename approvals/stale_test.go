package approvals_test

import (
	"context"
	"testing"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
)

// lagging is a client whose cache holds old versions of a release and a gate.
type lagging struct {
	client.Client
	release *v1alpha1.BatchRelease
	gate    *v1alpha1.Gate
}

// Get returns the old versions of both, and reads all else from the API server.
func (l lagging) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	switch object := object.(type) {
	case *v1alpha1.BatchRelease:
		if key.Name == l.release.Name {
			l.release.DeepCopyInto(object)
			return nil
		}
	case *v1alpha1.Gate:
		if key.Name == l.gate.Name {
			l.gate.DeepCopyInto(object)
			return nil
		}
	}
	return l.Client.Get(ctx, key, object, opts...)
}

// reconcile decides the gate once, with a cache that holds the release and the gate as given.
func (w *world) reconcile(cached *v1alpha1.BatchRelease, gate *v1alpha1.Gate) {
	w.Helper()
	reconciler := approvals.NewReconciler(
		lagging{Client: w.Client, release: cached, gate: gate}, w.Client, events.NewFakeRecorder(10), clock.RealClock{})
	if _, err := reconciler.Reconcile(w.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(gate)}); err != nil {
		w.Fatalf("reconcile: %v", err)
	}
}

// TestStaleCache: a cache that has not seen what became of a confirmed release opens no gate.
func TestStaleCache(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		since  func(*v1alpha1.BatchReleaseStatus)
		want   v1alpha1.Decision
	}{
		"Nothing": {
			reason: "a confirmation that still stands counts",
			since:  func(*v1alpha1.BatchReleaseStatus) {},
			want:   v1alpha1.DecisionPassed,
		},
		"NewTemplate": {
			reason: "a new template began another attempt",
			since: func(s *v1alpha1.BatchReleaseStatus) {
				s.Attempt, s.UpdateRevision, s.CurrentStepState, s.Gates = 2, "58d4", v1alpha1.StepUpgrade, nil
			},
		},
		"TakenBack": {
			reason: "the state was put back to Blocking",
			since:  func(s *v1alpha1.BatchReleaseStatus) { s.CurrentStepState = v1alpha1.StepBlocking },
			want:   v1alpha1.DecisionWaiting,
		},
		"NextStep": {
			reason: "the release is at another step",
			since:  func(s *v1alpha1.BatchReleaseStatus) { s.CurrentStepIndex = 1 },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			release := w.release("web")
			gate := w.gate(release, manual())
			w.block(release, gate)
			w.confirm(release)
			cached := w.read(release)
			w.asRollout(release, tc.since)
			w.reconcile(cached, gate)
			if got := w.readGate(gate).Status; got.Decision != tc.want {
				t.Errorf("%s: want decision %q, got %q (%s)", tc.reason, tc.want, got.Decision, got.Message)
			}
		})
	}
}

// TestStaleGate: a decision that was made on an older version of the gate is dropped.
func TestStaleGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.release("web")
	old := w.gate(release, manual())
	w.block(release, old)
	w.reconcile(w.read(release), old)
	waiting := w.readGate(old)
	if waiting.Status.Decision != v1alpha1.DecisionWaiting {
		t.Fatalf("want the gate waiting, got %q", waiting.Status.Decision)
	}

	w.confirm(release)
	w.reconcile(w.read(release), old) // as it was before it waited
	if got := w.readGate(old); got.ResourceVersion != waiting.ResourceVersion {
		t.Errorf("want no write on top of what was not seen, got %+v", got.Status)
	}
	w.reconcile(w.read(release), waiting)
	if got := w.readGate(old).Status.Decision; got != v1alpha1.DecisionPassed {
		t.Errorf("want the gate passed on its latest version, got %q", got)
	}
}

// TestGone: neither a missing release nor a missing gate is an error.
func TestGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	release := w.release("web")
	gate := w.gate(release, manual())
	w.block(release, gate)
	w.confirm(release)
	cached := w.read(release)
	if err := w.Delete(t.Context(), release); err != nil {
		t.Fatalf("delete release: %v", err)
	}
	w.reconcile(cached, gate)
	if got := w.readGate(gate).Status.Decision; got != "" {
		t.Errorf("without a release a gate stays as it is, got %q", got)
	}
	if err := w.Delete(t.Context(), gate); err != nil {
		t.Fatalf("delete gate: %v", err)
	}
	w.reconcile(cached, gate)
}

func (w *world) read(release *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	w.Helper()
	found := &v1alpha1.BatchRelease{}
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(release), found); err != nil {
		w.Fatalf("read release: %v", err)
	}
	return found
}

func (w *world) readGate(gate *v1alpha1.Gate) *v1alpha1.Gate {
	w.Helper()
	found := &v1alpha1.Gate{}
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(gate), found); err != nil {
		w.Fatalf("read gate: %v", err)
	}
	return found
}
