package approvals

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// longestNap is the longest time between two looks at a gate that waits for a time. A clock
// that is set, or a machine that slept, delays a gate by no more than this.
const longestNap = time.Minute

// Reconciler answers one Gate at a time.
type Reconciler struct {
	client client.Client
	live   client.Reader
	events events.EventRecorder
	clock  clock.PassiveClock
}

// NewReconciler makes a Reconciler that reads from the caches of a client, and from live
// before it opens a gate.
func NewReconciler(cached client.Client, live client.Reader, recorder events.EventRecorder, now clock.PassiveClock) *Reconciler {
	return &Reconciler{
		client: client.WithFieldOwner(cached, v1alpha1.OwnerApprovals),
		live:   live,
		events: recorder,
		clock:  now,
	}
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates/status,verbs=patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile decides g, writes what is new, and says when to look again.
func (r *Reconciler) Reconcile(ctx context.Context, g *v1alpha1.Gate) (reconcile.Result, error) {
	release, decision, err := r.evaluate(ctx, r.client, g)
	if err == nil && opens(g, decision) {
		release, decision, err = r.evaluate(ctx, r.live, g)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.record(ctx, g, release, decision.Status); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.nap(decision.WakeUp)}, nil
}

// evaluate decides g by what reader knows.
func (r *Reconciler) evaluate(ctx context.Context, reader client.Reader, g *v1alpha1.Gate) (*v1alpha1.BatchRelease, gate.Decision, error) {
	release := &v1alpha1.BatchRelease{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: g.Spec.ReleaseRef.Name}, release)
	if apierrors.IsNotFound(err) {
		release, err = nil, nil
	}
	if err != nil {
		return nil, gate.Decision{}, fmt.Errorf("read release of gate: %w", err)
	}
	return release, gate.Evaluate(g, gate.Facts{Release: release}, r.clock.Now()), nil
}

// opens reports whether the decision opens a gate that is closed.
func opens(g *v1alpha1.Gate, decision gate.Decision) bool {
	return !gate.Decided(g) && decision.Status.Decision == v1alpha1.DecisionPassed
}

// record writes a status that differs from the gate's, and the event of a gate that opened.
func (r *Reconciler) record(ctx context.Context, g *v1alpha1.Gate, release *v1alpha1.BatchRelease, status v1alpha1.GateStatus) error {
	if equality.Semantic.DeepEqual(g.Status, status) {
		return nil
	}
	decided := g.DeepCopy()
	decided.Status = status
	guard := client.MergeFromWithOptions(g, client.MergeFromWithOptimisticLock{})
	err := r.client.Status().Patch(ctx, decided, guard)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the watch brings what the gate is now, and it is decided anew
	}
	if err != nil {
		return fmt.Errorf("write status of gate: %w", err)
	}
	if status.Decision == v1alpha1.DecisionPassed {
		r.events.Eventf(release, decided, "Normal", "GatePassed", "PassGate",
			"%s gate after step %d: %s", g.Spec.Type, g.Spec.Step+1, status.Message)
	}
	return nil
}

// nap is the time until wakeUp, at most longestNap; 0, which means none, if there is no wake-up.
func (r *Reconciler) nap(wakeUp time.Time) time.Duration {
	if wakeUp.IsZero() {
		return 0
	}
	return min(max(wakeUp.Sub(r.clock.Now()), time.Millisecond), longestNap)
}
