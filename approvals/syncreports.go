package approvals

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
)

// SyncReports reports invalid files of sources to their forges.
type SyncReports struct {
	sources store[*v1alpha1.ReleaseSource]
	forges  *connections
	words   report.Options
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=releasesources/status,verbs=patch

// Reconcile posts what is new about a source.
func (r *SyncReports) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	source, found, err := r.sources.read(ctx, req.NamespacedName, &v1alpha1.ReleaseSource{})
	if err != nil || !found || source.Spec.Forge == nil {
		r.forges.forget(req.NamespacedName)
		return reconcile.Result{}, err
	}
	gather := func(context.Context) (lifecycle.SyncFacts, error) {
		return lifecycle.SyncFacts{Words: r.words, Connected: r.forges.of(source).current(source)}, nil
	}
	next := func(facts lifecycle.SyncFacts) []lifecycle.SyncIntent { return lifecycle.NextOfSync(source, facts) }
	on := &subject[*v1alpha1.ReleaseSource]{store: r.sources, object: source}
	_, _, err = run(ctx, gather, next, func(ctx context.Context, _ lifecycle.SyncFacts, intent lifecycle.SyncIntent) (bool, error) {
		return r.do(ctx, on, intent)
	})
	return r.forges.outcome(ctx, source, err)
}

// do carries out one intent. It reports false if the source is gone.
func (r *SyncReports) do(ctx context.Context, on *subject[*v1alpha1.ReleaseSource], intent lifecycle.SyncIntent) (bool, error) {
	source := on.object
	switch intent := intent.(type) {
	case lifecycle.PostSync:
		posted, err := r.forges.post(ctx, source, source.UID, intent.Post.Status)
		if err != nil || !posted {
			return err == nil, err
		}
		last := report.After(source.Status.Report, intent.Post, r.sources.clock.Now())
		return on.changeStatus(ctx, "write report of source", func(s *v1alpha1.ReleaseSource) { s.Status.Report = last })
	case lifecycle.Connect:
		err := r.forges.ask(ctx, source, false, func(context.Context, forge.Client) error { return nil })
		return err == nil, err
	}
	return false, nil
}
