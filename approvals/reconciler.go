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
	"github.com/sluice-dev/sluice/internal/kube"
)

// longestRequeue is the longest time between two looks at a gate that waits for a time. A clock
// that is set, or a machine that slept, delays a gate by no more than this.
const longestRequeue = time.Minute

// Reconciler answers one Gate at a time that needs no forge.
type Reconciler struct{ judge judge }

// NewReconciler makes a Reconciler that reads from the caches of a client, and from live
// before it opens a gate.
func NewReconciler(cached client.Client, live client.Reader, recorder events.EventRecorder, now clock.PassiveClock) *Reconciler {
	return &Reconciler{newJudge(newCluster(cached, live, recorder, now))}
}

func newCluster(cached client.Client, live client.Reader, recorder events.EventRecorder, now clock.PassiveClock, shared ...string) cluster {
	return cluster{
		client: client.WithFieldOwner(cached, v1alpha1.OwnerApprovals),
		live:   live,
		events: recorder,
		clock:  now,
		shared: shared,
	}
}

func newJudge(c cluster) judge { return judge{c, kube.NewOverlay[*v1alpha1.Gate](c.clock, 0)} }

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates/status,verbs=patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile decides g, writes what is new, and says when to look again.
func (r *Reconciler) Reconcile(ctx context.Context, g *v1alpha1.Gate) (reconcile.Result, error) {
	j := r.judge
	g, _ = j.own.Newest(g)
	if gate.Decided(g) {
		return reconcile.Result{}, nil
	}
	facts, err := j.factsOf(ctx, j.client, g)
	if err == nil {
		facts, err = j.judged(ctx, g, facts)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := gate.Evaluate(g, facts, j.clock.Now())
	_, err = j.record(ctx, g, facts.Release, decision.Status)
	return reconcile.Result{RequeueAfter: min(j.until(decision.WakeUp), longestRequeue)}, err
}
