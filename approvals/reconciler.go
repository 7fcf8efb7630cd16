package approvals

import (
	"context"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
)

// longestRequeue is the longest time between two passes of a gate that waits for a time. A changed
// clock, or a machine that slept, delays a gate by at most this.
const longestRequeue = time.Minute

// Reconciler decides Gates that need no forge.
type Reconciler struct{ gates store[*v1alpha1.Gate] }

// NewReconciler returns a Reconciler that reads from the cache of a client, and from live before it
// opens a gate.
func NewReconciler(cached client.Client, live client.Reader, recorder events.EventRecorder, now clock.PassiveClock) *Reconciler {
	return &Reconciler{newStore[*v1alpha1.Gate](newCluster(cached, live, recorder, now))}
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates/status,verbs=patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile decides a gate, records a new decision, and schedules the next pass.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g, found, err := r.gates.read(ctx, req.NamespacedName, &v1alpha1.Gate{})
	if err != nil || !found || gate.Decided(g) {
		return reconcile.Result{}, err
	}
	j := newJudging(r.gates, g)
	gather := func(ctx context.Context) (lifecycle.GateFacts, error) {
		facts, err := j.factsOf(ctx)
		if err != nil {
			return lifecycle.GateFacts{}, err
		}
		return j.decide(ctx, lifecycle.GateFacts{Facts: facts, Stage: lifecycle.GateUnasked})
	}
	next := func(facts lifecycle.GateFacts) []lifecycle.GateIntent { return lifecycle.NextOfGate(g, facts) }
	facts, _, err := run(ctx, gather, next, func(ctx context.Context, _ lifecycle.GateFacts, intent lifecycle.GateIntent) (bool, error) {
		if record, is := intent.(lifecycle.RecordGate); is {
			return j.recordDecision(ctx, record.Status)
		}
		return false, nil
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: min(r.gates.until(facts.Decision.WakeUp), longestRequeue)}, nil
}
