package approvals

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/plain"
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
	own    *written[*v1alpha1.Gate]
	// shared are the namespaces that sources of any namespace write into.
	shared []string
}

// NewReconciler makes a Reconciler that reads from the caches of a client, and from live
// before it opens a gate.
func NewReconciler(cached client.Client, live client.Reader, recorder events.EventRecorder, now clock.PassiveClock) *Reconciler {
	return &Reconciler{
		client: client.WithFieldOwner(cached, v1alpha1.OwnerApprovals),
		live:   live,
		events: recorder,
		clock:  now,
		own:    newWritten[*v1alpha1.Gate](),
	}
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates/status,verbs=patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile decides g, writes what is new, and says when to look again.
func (r *Reconciler) Reconcile(ctx context.Context, g *v1alpha1.Gate) (reconcile.Result, error) {
	g = r.own.newest(g)
	if gate.Decided(g) {
		return reconcile.Result{}, nil
	}
	facts, err := r.facts(ctx, r.client, g)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision, _, err := r.decide(ctx, g, facts)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.nap(decision.WakeUp)}, nil
}

// decide judges g by facts that belong together, and records what is new. What would open the gate is
// judged once more, on a live read of the cluster. It reports false if g is no longer what was judged.
func (r *Reconciler) decide(ctx context.Context, g *v1alpha1.Gate, facts gate.Facts) (gate.Decision, bool, error) {
	decision := gate.Evaluate(g, facts, r.clock.Now())
	if opens(g, decision) {
		live, err := r.facts(ctx, r.live, g)
		if err != nil {
			return gate.Decision{}, false, err
		}
		live.Forge = facts.Forge
		facts, decision = live, gate.Evaluate(g, live, r.clock.Now())
	}
	recorded, err := r.record(ctx, g, facts.Release, decision.Status)
	return decision, recorded, err
}

// facts are the gate's release and where that comes from, as reader has them.
func (r *Reconciler) facts(ctx context.Context, reader client.Reader, g *v1alpha1.Gate) (gate.Facts, error) {
	release := &v1alpha1.BatchRelease{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: g.Spec.ReleaseRef.Name}, release)
	switch {
	case apierrors.IsNotFound(err):
		return gate.Facts{}, nil
	case err != nil:
		return gate.Facts{}, fmt.Errorf("read release of gate: %w", err)
	case !gate.Asks(g.Spec.Type):
		return gate.Facts{Release: release}, nil
	}
	source, err := r.sourceOf(ctx, reader, release)
	return gate.Facts{Release: release, Source: source}, err
}

// opens reports whether the decision opens a gate that is closed.
func opens(g *v1alpha1.Gate, decision gate.Decision) bool {
	return !gate.Decided(g) && decision.Status.Decision == v1alpha1.DecisionPassed
}

// longestMessage of a gate, in bytes: forges, apps and people say what they like.
const longestMessage = 1000

// record writes a status that differs from the gate's, with the event of a gate that was decided,
// and leaves g as it is then. It reports false if g is no longer what was judged: the watch brings
// what it is now, and it is judged anew.
func (r *Reconciler) record(ctx context.Context, g *v1alpha1.Gate, release *v1alpha1.BatchRelease, status v1alpha1.GateStatus) (bool, error) {
	status.Message = plain.UpTo(plain.Line(status.Message), longestMessage)
	if equality.Semantic.DeepEqual(g.Status, status) {
		return true, nil
	}
	before := g.DeepCopy()
	g.Status = status
	guard := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.client.Status().Patch(ctx, g, guard)
	if err != nil {
		before.DeepCopyInto(g)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("write status of gate: %w", err)
	}
	r.own.keep(g)
	if release != nil && before.Status.Decision != status.Decision {
		r.tell(g, release)
	}
	return true, nil
}

// tell makes the event of a decision.
func (r *Reconciler) tell(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) {
	switch {
	case g.Forced() != nil:
		r.events.Eventf(release, g, corev1.EventTypeWarning, "GateForced", "PassGate",
			"%s gate after batch %d: %s", g.Spec.Type, g.Spec.Step+1, g.Status.Message)
	case g.Status.Decision == v1alpha1.DecisionPassed:
		r.events.Eventf(release, g, corev1.EventTypeNormal, "GatePassed", "PassGate",
			"%s gate after batch %d: %s", g.Spec.Type, g.Spec.Step+1, g.Status.Message)
	case g.Status.Decision == v1alpha1.DecisionRejected:
		r.events.Eventf(release, g, corev1.EventTypeWarning, "GateRejected", "RejectGate",
			"%s gate after batch %d: %s", g.Spec.Type, g.Spec.Step+1, g.Status.Message)
	}
}

// nap is the time until wakeUp, at most longestNap; 0, which means none, if there is no wake-up.
func (r *Reconciler) nap(wakeUp time.Time) time.Duration {
	if wakeUp.IsZero() {
		return 0
	}
	return min(max(wakeUp.Sub(r.clock.Now()), time.Millisecond), longestNap)
}
