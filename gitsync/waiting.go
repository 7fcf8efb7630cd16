package gitsync

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/kube"
)

// caller returns a source as one who waits, and says so, until it has what it waits for.
func (r *Reconciler) caller(ctx context.Context, source *v1alpha1.ReleaseSource) gitrepo.Caller {
	return gitrepo.Caller{Tenant: source.Namespace, Waits: func(what string) { r.tellWaiting(ctx, source, what) }}
}

// tellWaiting writes into the source's status what it waits for. The rest of the status stays. A
// failure to write it only goes to the log: the pass goes on, and says how it ended.
func (r *Reconciler) tellWaiting(ctx context.Context, source *v1alpha1.ReleaseSource, what string) {
	next := source.DeepCopy()
	meta.SetStatusCondition(&next.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonWaiting,
		Message: "waits for " + what, ObservedGeneration: source.Generation, LastTransitionTime: metav1.NewTime(r.clock.Now()),
	})
	outcome := kube.PatchStatus(ctx, r.client, source, next, client.FieldOwner(v1alpha1.OwnerGitsync))
	switch outcome.(type) {
	case kube.Written:
		*source = *next // what the pass writes at its end is based on it
	case kube.Unchanged:
	case kube.Outdated, kube.Gone, kube.Refused, kube.Failed:
		log.FromContext(ctx).V(1).Info("can't tell that the source waits", "error", kube.Err(outcome).Error())
	}
}
