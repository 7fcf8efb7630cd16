package approvals

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/kube"
)

const (
	// workers is how many gates are answered at once. They don't depend on each other, and each
	// spends its time on the way to the API server.
	workers = 8
	// forgeWorkers is how many things are asked of forges at once. One that hangs keeps some of
	// them waiting, of its own source, and the others must have enough.
	forgeWorkers = 64
)

// Setup lets mgr answer gates and report to forges.
func Setup(mgr ctrl.Manager, options Options) error {
	recorder := kube.LogEvents(mgr.GetEventRecorder(v1alpha1.OwnerApprovals), mgr.GetLogger().WithName(v1alpha1.OwnerApprovals))
	in := newCluster(mgr.GetClient(), mgr.GetAPIReader(), recorder, clock.RealClock{}, options.SharedNamespaces...)
	in.key = options.Key
	forges, words := newConnections(in.client, in.live, in.clock, options), report.Options{Cluster: options.Cluster, Page: options.Page}
	if err := (&Reconciler{newStore[*v1alpha1.Gate](in)}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up gates: %w", err)
	}
	if err := setupForgeGates(mgr, &ForgeGates{
		gates: newStore[*v1alpha1.Gate](in), forges: forges, polls: newPolls(), prefix: words.Prefix(),
	}); err != nil {
		return fmt.Errorf("set up gates of forges: %w", err)
	}
	if err := setupJobGates(mgr, newStore[*v1alpha1.Gate](in), options.Cache); err != nil {
		return fmt.Errorf("set up gates of Jobs: %w", err)
	}
	if err := setupMetricGates(mgr, newStore[*v1alpha1.Gate](in), options.Networks); err != nil {
		return fmt.Errorf("set up gates of metrics: %w", err)
	}
	if options.Key != nil {
		if err := setupStatements(mgr, &Statements{gates: newStore[*v1alpha1.Gate](in), forges: forges}); err != nil {
			return fmt.Errorf("set up statements: %w", err)
		}
	}
	if err := setupReports(mgr, &Reports{
		releases: newStore[*v1alpha1.BatchRelease](in), forges: forges, words: words, seen: &sightings{all: map[types.NamespacedName]types.UID{}},
	}); err != nil {
		return fmt.Errorf("set up reports: %w", err)
	}
	if err := setupReverts(mgr, &Reverts{releases: newStore[*v1alpha1.BatchRelease](in), forges: forges}); err != nil {
		return fmt.Errorf("set up reverts: %w", err)
	}
	if err := setupSyncReports(mgr, &SyncReports{
		sources: newStore[*v1alpha1.ReleaseSource](in), forges: forges, words: words,
	}); err != nil {
		return fmt.Errorf("set up reports of sources: %w", err)
	}
	return nil
}

// SetupWithManager lets mgr run the reconciler of the gates that need no forge.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("approvals").
		For(&v1alpha1.Gate{}, builder.WithPredicates(predicate.NewPredicateFuncs(gatesOf(byClock)))).
		Watches(&v1alpha1.BatchRelease{}, handler.EnqueueRequestsFromMapFunc(awaitedGates(byClock))).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: kube.BackOff()}).
		Complete(r)
}

func setupForgeGates(mgr ctrl.Manager, r *ForgeGates) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("approvals-forge").
		For(&v1alpha1.Gate{}, builder.WithPredicates(predicate.NewPredicateFuncs(gatesOf(gate.Asks)))).
		Watches(&v1alpha1.BatchRelease{}, handler.EnqueueRequestsFromMapFunc(awaitedGates(gate.Asks))).
		Watches(&v1alpha1.ReleaseSource{}, handler.EnqueueRequestsFromMapFunc(r.gatesOfSource),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: brings})).
		WithOptions(controller.Options{MaxConcurrentReconciles: forgeWorkers, RateLimiter: kube.BackOff()}).
		Complete(r)
}

func setupJobGates(mgr ctrl.Manager, gates store[*v1alpha1.Gate], options cache.Options) error {
	jobs, err := newJobWatch(mgr, options)
	if err != nil {
		return err
	}
	pods, err := newLogs(mgr)
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("approvals-jobs").
		For(&v1alpha1.Gate{}, builder.WithPredicates(predicate.NewPredicateFuncs(gatesOf(runsJob)))).
		Watches(&v1alpha1.BatchRelease{}, handler.EnqueueRequestsFromMapFunc(awaitedGates(runsJob))).
		WatchesRawSource(jobs).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: kube.BackOff()}).
		Complete(&JobGates{gates: gates, jobs: jobs, logs: pods})
}

func setupMetricGates(mgr ctrl.Manager, gates store[*v1alpha1.Gate], networks dialer.Rules) error {
	watching, err := client.NewWithWatch(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return fmt.Errorf("make client of pods: %w", err)
	}
	r := newMetricGates(gates, newMetricServers(gates.live, gates.clock, networks), watching)
	if err := mgr.Add(r); err != nil {
		return fmt.Errorf("add measurements: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("approvals-metrics").
		For(&v1alpha1.Gate{}, builder.WithPredicates(predicate.NewPredicateFuncs(gatesOf(measures)))).
		Watches(&v1alpha1.BatchRelease{}, handler.EnqueueRequestsFromMapFunc(awaitedGates(measures))).
		Watches(&v1alpha1.MetricProvider{}, handler.EnqueueRequestsFromMapFunc(r.gatesOfProvider)).
		WatchesRawSource(source.Channel(r.measured, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: kube.BackOff()}).
		Complete(r)
}

func setupStatements(mgr ctrl.Manager, r *Statements) error {
	concerned := func(object client.Object) bool {
		g, ok := object.(*v1alpha1.Gate)
		return ok && unkept(g)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("approvals-statements").
		For(&v1alpha1.Gate{}, builder.WithPredicates(predicate.NewPredicateFuncs(concerned))).
		WithOptions(controller.Options{MaxConcurrentReconciles: forgeWorkers, RateLimiter: kube.BackOff()}).
		Complete(r)
}

func setupReports(mgr ctrl.Manager, r *Reports) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("approvals-reports").
		For(&v1alpha1.BatchRelease{}).
		Watches(&v1alpha1.Gate{}, handler.EnqueueRequestsFromMapFunc(releaseOfGate)).
		Watches(&v1alpha1.ReleaseSource{}, handler.EnqueueRequestsFromMapFunc(r.releasesOfSource),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: forgeWorkers, RateLimiter: kube.BackOff()}).
		Complete(r)
}

func setupReverts(mgr ctrl.Manager, r *Reverts) error {
	concerned := func(object client.Object) bool {
		release, ok := object.(*v1alpha1.BatchRelease)
		return ok && lifecycle.RevertStageOf(release) != lifecycle.RevertIdle
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("approvals-reverts").
		For(&v1alpha1.BatchRelease{}, builder.WithPredicates(predicate.NewPredicateFuncs(concerned))).
		WithOptions(controller.Options{MaxConcurrentReconciles: forgeWorkers, RateLimiter: kube.BackOff()}).
		Complete(r)
}

func setupSyncReports(mgr ctrl.Manager, r *SyncReports) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("approvals-sync-reports").
		For(&v1alpha1.ReleaseSource{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: forgeWorkers, RateLimiter: kube.BackOff()}).
		Complete(r)
}

// byClock reports whether gates of a type are decided by the clock and what people say.
func byClock(gateType v1alpha1.GateType) bool {
	return !gate.Asks(gateType) && !runsJob(gateType) && !measures(gateType)
}

func measures(gateType v1alpha1.GateType) bool { return gateType == v1alpha1.GateMetrics }

func runsJob(gateType v1alpha1.GateType) bool { return gateType == v1alpha1.GateJob }

// gatesOf lets through the gates of some types.
func gatesOf(of func(v1alpha1.GateType) bool) func(client.Object) bool {
	return func(object client.Object) bool {
		g, ok := object.(*v1alpha1.Gate)
		return ok && of(g.Spec.Type)
	}
}

// brings reports whether a source has changed in a way that can decide a gate.
func brings(e event.UpdateEvent) bool {
	before, okBefore := e.ObjectOld.(*v1alpha1.ReleaseSource)
	after, okAfter := e.ObjectNew.(*v1alpha1.ReleaseSource)
	return okBefore && okAfter && (before.Generation != after.Generation ||
		before.Status.ObservedCommit != after.Status.ObservedCommit ||
		!equality.Semantic.DeepEqual(before.Status.Approvals, after.Status.Approvals))
}

// awaitedGates maps a release to the gates of some types that it waits for. A change of the release
// can decide no other gate.
func awaitedGates(of func(v1alpha1.GateType) bool) handler.MapFunc {
	return func(_ context.Context, object client.Object) []reconcile.Request {
		release, ok := object.(*v1alpha1.BatchRelease)
		if !ok {
			return nil
		}
		return requestsFor(release, of)
	}
}

func requestsFor(release *v1alpha1.BatchRelease, of func(v1alpha1.GateType) bool) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(release.Status.Gates)+len(release.Status.Guards))
	for _, reference := range slices.Concat(release.Status.Gates, release.Status.Guards) {
		if of(reference.Type) {
			requests = append(requests, reconcile.Request{
				NamespacedName: types.NamespacedName{Namespace: release.Namespace, Name: reference.Name},
			})
		}
	}
	return requests
}

// gatesOfSource returns the gates that releases from a source wait for.
func (r *ForgeGates) gatesOfSource(ctx context.Context, object client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, release := range r.gates.fromSource(ctx, object) {
		requests = append(requests, requestsFor(&release, gate.Asks)...)
	}
	return requests
}

// releasesOfSource returns the releases from a source.
func (r *Reports) releasesOfSource(ctx context.Context, object client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, release := range r.releases.fromSource(ctx, object) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&release)})
	}
	return requests
}

// fromSource lists the releases from a source as the cache has them. The only error of a cache is
// that it has not started, and then it brings every object later.
func (c cluster) fromSource(ctx context.Context, object client.Object) []v1alpha1.BatchRelease {
	source, ok := object.(*v1alpha1.ReleaseSource)
	if !ok {
		return nil
	}
	releases, err := c.releasesOf(ctx, source)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list the releases of a source", "source", client.ObjectKeyFromObject(source))
	}
	return releases
}

func releaseOfGate(_ context.Context, object client.Object) []reconcile.Request {
	g, ok := object.(*v1alpha1.Gate)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ReleaseRef.Name}}}
}
