package approvals_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// soon is how long the tests wait for what takes milliseconds on a machine with nothing else to do.
const soon = 2 * time.Minute

// world is a namespace in which the test plays the rollout part and the users.
type world struct {
	testing.TB
	client.Client
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := cptest.Client(t)
	return &world{TB: t, Client: c, namespace: cptest.Namespace(t)}
}

// startApprovals runs the controller, by the named user agent, until stop is called or the test
// ends.
func (w *world) startApprovals(userAgent string) (stop func()) {
	w.Helper()
	cfg := cptest.Config(w)
	cfg.UserAgent = userAgent
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: w.Scheme(),
		Logger: logr.FromSlogHandler(slog.DiscardHandler),
		// As in the product the cache knows nothing of managed fields.
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{w.namespace: {}},
			DefaultTransform:  cache.TransformStripManagedFields(),
		},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		w.Fatalf("make manager: %v", err)
	}
	reconciler := approvals.NewReconciler(
		mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder(v1alpha1.OwnerApprovals), clock.RealClock{})
	if err := reconciler.SetupWithManager(mgr); err != nil {
		w.Fatalf("set up reconciler: %v", err)
	}
	return w.run(mgr.Start)
}

// run runs start until stop is called or the test ends.
func (w *world) run(start func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("run manager: %v", err)
		}
	}
	w.Cleanup(stop)
	return stop
}

// release makes a release of that name that has taken its first batch.
func (w *world) release(name string) *v1alpha1.BatchRelease {
	w.Helper()
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
				{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("50%")}, {Replicas: intstr.FromString("100%")},
			}},
		},
	}
	if err := w.Create(w.Context(), release); err != nil {
		w.Fatalf("create release: %v", err)
	}
	w.asRollout(release, func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.CurrentStepState = v1alpha1.PhaseRollingUpdate, v1alpha1.StepUpgrade
		status.UpdateRevision, status.Attempt = "7f9c", 1
	})
	return release
}

// asRollout changes a release's status as the rollout part does: on what is there now.
func (w *world) asRollout(release *v1alpha1.BatchRelease, change func(*v1alpha1.BatchReleaseStatus)) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(release), release); err != nil {
			return fmt.Errorf("read release: %w", err)
		}
		before := release.DeepCopy()
		change(&release.Status)
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := w.Status().Patch(w.Context(), release, patch, client.FieldOwner(v1alpha1.OwnerRollout)); err != nil {
			return fmt.Errorf("write status of release: %w", err)
		}
		return nil
	})
}

// gate makes the gate after the release's current step.
func (w *world) gate(release *v1alpha1.BatchRelease, policy v1alpha1.GatePolicy) *v1alpha1.Gate {
	w.Helper()
	status := &release.Status
	gate := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace,
			Name:      fmt.Sprintf("%s-%s-%d-%d-0", release.Name, status.UpdateRevision, status.Attempt, status.CurrentStepIndex),
		},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: release.Name, UID: release.UID},
			Revision:   status.UpdateRevision, Attempt: status.Attempt, Step: status.CurrentStepIndex,
			Type: policy.Type(), Policy: policy, Nonce: "n",
		},
	}
	if err := w.Create(w.Context(), gate); err != nil {
		w.Fatalf("create gate: %v", err)
	}
	return gate
}

// block lets the release wait for the gate.
func (w *world) block(release *v1alpha1.BatchRelease, gate *v1alpha1.Gate) {
	w.Helper()
	w.asRollout(release, func(status *v1alpha1.BatchReleaseStatus) {
		status.CurrentStepState = v1alpha1.StepBlocking
		status.Gates = []v1alpha1.GateReference{{Name: gate.Name, Type: gate.Spec.Type}}
	})
}

// enterStep takes the release on to a step.
func (w *world) enterStep(release *v1alpha1.BatchRelease, index int32) {
	w.Helper()
	w.asRollout(release, func(status *v1alpha1.BatchReleaseStatus) {
		status.CurrentStepIndex, status.CurrentStepState, status.Gates = index, v1alpha1.StepUpgrade, nil
	})
}

// confirm patches the release's status as a user does.
func (w *world) confirm(release *v1alpha1.BatchRelease) {
	w.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"currentStepState":"Completed"}}`))
	if err := w.Status().Patch(w.Context(), release.DeepCopy(), patch, client.FieldOwner("kubectl-patch")); err != nil {
		w.Errorf("confirm release: %v", err)
	}
}

// awaitDecision waits until the gate has a decision and returns its status.
func (w *world) awaitDecision(gate *v1alpha1.Gate, want v1alpha1.Decision) v1alpha1.GateStatus {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(gate), gate); err != nil {
			return fmt.Errorf("read gate: %w", err)
		}
		if got := gate.Status.Decision; got != want {
			return fmt.Errorf("gate %s: want %s, got %q (%s)", gate.Name, want, got, gate.Status.Message)
		}
		return nil
	})
	return gate.Status
}

func manual() v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}
}

func soak(d time.Duration) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: d}}}
}
