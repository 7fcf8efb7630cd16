package approvals

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// workers is how many gates are answered at once. They don't depend on each other, and each
// spends its time on the way to the API server.
const workers = 8

// SetupWithManager lets mgr run the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("approvals").
		For(&v1alpha1.Gate{}, builder.WithPredicates(predicate.NewPredicateFuncs(undecided))).
		Watches(&v1alpha1.BatchRelease{}, handler.EnqueueRequestsFromMapFunc(awaitedGates)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconcile.AsReconciler(r.client, r))
}

// undecided lets no gate through whose decision is final.
func undecided(object client.Object) bool {
	g, ok := object.(*v1alpha1.Gate)
	return ok && !gate.Decided(g)
}

// awaitedGates are the gates that a release waits for, which are the only ones that a change
// of it can decide.
func awaitedGates(_ context.Context, object client.Object) []reconcile.Request {
	release, ok := object.(*v1alpha1.BatchRelease)
	if !ok {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(release.Status.Gates))
	for _, reference := range release.Status.Gates {
		requests = append(requests, reconcile.Request{
			NamespacedName: types.NamespacedName{Namespace: release.Namespace, Name: reference.Name},
		})
	}
	return requests
}
