package gitsync

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/lru"
)

// workers is how many sources are worked on at once. A pass mostly waits for a repository, and one
// that hangs must not keep others waiting: no namespace, and no server of it, has more than a part
// of them. Of those whose repository was read fewer go on at once: they take memory, and write.
const (
	workers       = 512
	passesAtOnce  = 32
	waitForWorker = 2 * time.Second
)

// soon is when a source that changed during a pass is read again.
const soon = time.Second

// Options of a Reconciler.
type Options struct {
	// AllowedNamespaces are the namespaces that any source may write to besides its own.
	AllowedNamespaces []string
	// DefaultServiceAccount is the account, in the source's namespace, that writes what
	// comes from sources that name none. Empty means the controller's own account.
	DefaultServiceAccount string
	// Git says which repositories may be read, and their limits.
	Git gitrepo.Options
	// Reader reads them. Default: one of its own, with the options in Git.
	Reader *gitrepo.Reader
	// Forges make the clients that have tokens of GitHub Apps.
	Forges *github.Clients
	// Manifests limits what is read of a repository.
	Manifests spec.Limits
	// Builds limits what kustomizations may take to build, those of all sources together.
	Builds sandbox.Options
}

// Reconciler makes the cluster follow the repositories of ReleaseSources.
type Reconciler struct {
	client   client.Client
	live     client.Reader
	events   events.EventRecorder
	clock    clock.PassiveClock
	options  Options
	git      *gitrepo.Reader
	turns    *gitrepo.Slots
	passes   *gitrepo.Slots
	accounts *accounts
	memories *memories
	builds   *sandbox.Pool
	parsed   *parsedManifests
}

// NewReconciler makes a Reconciler that reads from the caches of a client, and from
// live what is not cached, or may not be yet. The configuration is for clients that
// write as service accounts.
//
//nolint:revive // all of it comes from one manager, and none can be done without
func NewReconciler(
	cached client.Client, live client.Reader, cfg *rest.Config, recorder events.EventRecorder, now clock.PassiveClock, options Options,
) *Reconciler {
	if options.Reader == nil {
		options.Reader = gitrepo.NewReader(options.Git)
	}
	return &Reconciler{
		client:   cached,
		live:     live,
		events:   recorder,
		clock:    now,
		options:  options,
		git:      options.Reader,
		turns:    gitrepo.NewSlots(workers, workers/8, "a turn"),
		passes:   gitrepo.NewSlots(passesAtOnce, passesAtOnce/4, "a turn to read manifests and write them"),
		accounts: newAccounts(cached, cfg),
		memories: newMemories(now),
		builds:   sandbox.NewPool(options.Builds),
		parsed:   lru.New[types.UID, *spec.Reader](parsedBytes),
	}
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=releasesources,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=releasesources/status,verbs=patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=get;list;watch;create
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=impersonate
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// SetupWithManager lets mgr run the reconciler.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("gitsync").
		For(&v1alpha1.ReleaseSource{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: asksForSync})).
		Watches(&v1alpha1.BatchRelease{}, handler.EnqueueRequestsFromMapFunc(r.leavingSources), builder.WithPredicates(deletions())).
		Watches(&v1alpha1.Gate{}, handler.EnqueueRequestsFromMapFunc(r.leavingSources), builder.WithPredicates(deletions())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: kube.BackOff()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up gitsync: %w", err)
	}
	return nil
}

// asksForSync lets through what people change, and not our own status.
func asksForSync(e event.UpdateEvent) bool {
	return e.ObjectNew.GetDeletionTimestamp() != nil ||
		e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		requestedAt(e.ObjectOld) != requestedAt(e.ObjectNew)
}

func requestedAt(source metav1.Object) string {
	return source.GetAnnotations()[v1alpha1.RequestedAtAnnotation]
}

// Reconcile makes one look at a source's repository and lets the cluster follow.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	source := &v1alpha1.ReleaseSource{}
	if err := r.client.Get(ctx, req.NamespacedName, source); err != nil {
		r.memories.forget(req.NamespacedName)
		forgetMeasures(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !source.DeletionTimestamp.IsZero() {
		return r.leave(ctx, source)
	}
	if kept, err := r.setFinalizer(ctx, source, true); err != nil || !kept {
		return reconcile.Result{RequeueAfter: soon}, err
	}
	repository, caller := gitrepo.Source{URL: source.Spec.URL}, r.caller(ctx, source)
	turn := r.turns.TryAcquire(caller, repository.Host())
	if turn == nil {
		caller.Waits("a turn: other sources of this namespace wait for their servers")
		return reconcile.Result{RequeueAfter: waitForWorker}, nil
	}
	defer turn()
	memory, began := r.memories.of(source), r.clock.Now()
	result, err := r.sync(ctx, source, memory)
	measure(req.NamespacedName, result, err, r.clock.Since(began))
	if err != nil {
		return reconcile.Result{}, err
	}
	recorded, err := r.record(ctx, source, result)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case !recorded:
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	return reconcile.Result{RequeueAfter: memory.next(interval(source), result)}, nil
}

// sync returns one pass. Its error is one of the API server or the end of ctx; a problem with the
// source or its repository is in the outcome.
func (r *Reconciler) sync(ctx context.Context, source *v1alpha1.ReleaseSource, memory *memory) (outcome, error) {
	if source.Spec.Suspend {
		return suspended{}, nil
	}
	repository, problem, err := r.repository(ctx, source, memory)
	if err != nil || problem != nil {
		return problem, err
	}
	repository.Caller = r.caller(ctx, source)
	for range spec.Rounds {
		result, missed, err := r.syncWith(ctx, source, memory, repository)
		if err != nil || len(missed) == 0 {
			return result, err
		}
		if !memory.reads(source).Miss(missed) {
			break
		}
	}
	return unread{cause: limitExceeded, err: fmt.Errorf("the kustomizations lead from one to another, outside of %q, more than %d times",
		source.Spec.Path, spec.Rounds)}, nil
}

// syncWith returns one round of a pass. If it misses files, it has changed nothing.
func (r *Reconciler) syncWith(
	ctx context.Context, source *v1alpha1.ReleaseSource, memory *memory, repository gitrepo.Source,
) (result outcome, missed []string, err error) {
	repository.Reads = readsKeys(source, memory.reads(source).Reads())
	head, err := r.git.Read(ctx, repository, memory.known(source))
	if err != nil {
		memory.refused(err)
		result, err = readFailed(ctx, err)
		return result, nil, err
	}
	defer head.Close()
	if problem, err := r.verify(ctx, source, memory, repository, head); err != nil || problem != nil {
		return problem, nil, err
	}
	turn, err := r.passes.Acquire(ctx, repository.Caller, source.Name)
	if err != nil {
		return nil, nil, err
	}
	defer turn()
	desired, err := r.read(ctx, head, source, memory)
	if missed := head.Missed(); missed != nil {
		memory.content = nil
		return nil, missed, ctx.Err()
	}
	if err != nil {
		result, err = contentFailed(ctx, err)
		return result, nil, err
	}
	result, err = r.follow(ctx, source, memory, desired, head.Commit)
	return result, nil, err
}

// follow lets the cluster follow what a commit asks for.
func (r *Reconciler) follow(ctx context.Context, source *v1alpha1.ReleaseSource, memory *memory, desired *spec.Result, commit string) (outcome, error) {
	pass, err := r.newPass(source, memory, desired)
	if err != nil {
		return nil, err
	}
	if err := pass.run(ctx); err != nil {
		return nil, err
	}
	memory.follow(source, commit)
	return pass.outcome(), nil
}

func (r *Reconciler) specOptions(source *v1alpha1.ReleaseSource) spec.Options {
	var on forge.Type
	if source.Spec.Forge != nil {
		on = forge.Type(source.Spec.Forge.Type)
	}
	return spec.Options{
		Forge:             on,
		Namespace:         source.Namespace,
		AllowedNamespaces: r.options.AllowedNamespaces,
		Limits:            r.options.Manifests,
		Repository:        source.Spec.URL,
		Ignore:            source.Spec.Ignore,
		Helm:              source.Spec.Helm,
		Ignorer:           gitrepo.Ignore,
	}
}
