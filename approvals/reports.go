package approvals

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/kube"
)

// doubtful is how young a report must be to be compared with what the forge has, when a process
// sees it for the first time: a request of the process before may have come in later.
const doubtful = 10 * time.Minute

// Reports tells the forge how each release goes.
type Reports struct {
	cluster
	forges *connections
	words  report.Options
	seen   *sightings
	told   *kube.Overlay[*v1alpha1.BatchRelease]
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/status,verbs=patch

// Reconcile posts what is new about a release.
func (r *Reports) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	release := &v1alpha1.BatchRelease{}
	if err := r.client.Get(ctx, req.NamespacedName, release); err != nil {
		r.seen.forget(req.NamespacedName)
		r.told.Forget(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	release, _ = r.told.Newest(release)
	source, err := r.sourceOf(ctx, r.client, release)
	if err != nil || source == nil || source.Spec.Forge == nil {
		return reconcile.Result{}, err
	}
	facts, err := r.gather(ctx, release, source)
	if err == nil {
		_, err = carryOut(ctx, lifecycle.NextOfReport(release, facts), (&reporting{Reports: r, release: release, source: source}).do)
	}
	if kind := forge.KindOf(err); kind == forge.Forbidden || kind == forge.NotFound || kind == forge.Invalid {
		r.events.Eventf(release, source, corev1.EventTypeWarning, "ReportFailed", "Report", "%v", err)
	}
	return r.forges.outcome(ctx, source, err)
}

// gather reads what is needed to report how a release goes. Once for each process it compares the
// last report with what the forge has.
func (r *Reports) gather(ctx context.Context, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) (lifecycle.ReportFacts, error) {
	facts := lifecycle.ReportFacts{Words: r.words, Environment: source.Spec.Forge.Environment}
	var err error
	if facts.Gates, err = r.gatesOf(ctx, release); err != nil {
		return facts, err
	}
	last, key := release.Status.Report, client.ObjectKeyFromObject(release)
	if !r.seen.first(key, release.UID) || last == nil || last.Time == nil || r.clock.Since(last.Time.Time) > doubtful {
		return facts, nil
	}
	err = r.forges.ask(ctx, source, false, func(ctx context.Context, api *github.Client) error {
		standing, err := api.CommitStatuses(ctx, last.Commit, last.Context)
		if facts.Doubted = err == nil; len(standing) > 0 {
			facts.Standing = &standing[0]
		}
		return err
	})
	if err != nil {
		r.seen.forget(key)
	}
	return facts, err
}

// gatesOf lists the gates that a release waits for, or waited for.
func (r *Reports) gatesOf(ctx context.Context, release *v1alpha1.BatchRelease) ([]v1alpha1.Gate, error) {
	var found []v1alpha1.Gate
	for _, reference := range release.Status.Gates {
		var g v1alpha1.Gate
		err := r.client.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: reference.Name}, &g)
		switch {
		case apierrors.IsNotFound(err): // the watch brings it
		case err != nil:
			return nil, fmt.Errorf("read gate %s: %w", reference.Name, err)
		default:
			found = append(found, g)
		}
	}
	return found, nil
}

// reporting is one release that is reported to the forge, as it was last read or written.
type reporting struct {
	*Reports
	release *v1alpha1.BatchRelease
	source  *v1alpha1.ReleaseSource
}

// do carries out one intent. It reports false if the release is gone.
func (r *reporting) do(ctx context.Context, intent lifecycle.ReportIntent) (bool, error) {
	switch intent := intent.(type) {
	case lifecycle.RepeatStatus:
		return r.repeat(ctx)
	case lifecycle.PostStatus:
		return r.post(ctx, intent)
	case lifecycle.EndDeployment:
		err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api *github.Client) error {
			return api.PostDeploymentStatus(ctx, forge.DeploymentStatusRequest{
				DeploymentID: intent.ID, State: forge.DeploymentInactive, Description: "superseded",
			})
		})
		return err == nil, err
	case lifecycle.Deploy:
		return r.deploy(ctx, intent)
	}
	return false, nil
}

// repeat posts what was posted last again.
func (r *reporting) repeat(ctx context.Context) (bool, error) {
	last := r.release.Status.Report
	posted, err := r.forges.post(ctx, r.source, r.release.UID, report.Again(last))
	if err != nil {
		r.seen.forget(client.ObjectKeyFromObject(r.release))
	}
	if err != nil || !posted {
		return err == nil, err
	}
	told := report.Repeated(last, r.clock.Now())
	return r.writeDown(ctx, func(s *v1alpha1.BatchReleaseStatus) { s.Report = told })
}

// post sends one status, unless the forge has it, or has refused it before.
func (r *reporting) post(ctx context.Context, intent lifecycle.PostStatus) (bool, error) {
	posted, err := r.forges.post(ctx, r.source, r.release.UID, intent.Post.Status)
	if err != nil || !posted {
		return err == nil, err
	}
	slot := func(s *v1alpha1.BatchReleaseStatus) **v1alpha1.ForgeReport {
		if intent.Of == lifecycle.ToldOfWaiting {
			return &s.Refusal
		}
		return &s.Report
	}
	told := report.After(*slot(&r.release.Status), intent.Post, r.clock.Now())
	return r.writeDown(ctx, func(s *v1alpha1.BatchReleaseStatus) { *slot(s) = told })
}

// deploy shows the release as a deployment, once something has been reported of it.
func (r *reporting) deploy(ctx context.Context, intent lifecycle.Deploy) (bool, error) {
	if r.release.Status.Report == nil {
		return true, nil
	}
	next := r.release.Status.Report.DeepCopy()
	err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api *github.Client) error {
		made, err := api.OpenDeployment(ctx, intent.Request)
		if err != nil {
			return err
		}
		next.DeploymentID, next.DeploymentTask, next.DeploymentState = made.ID, intent.Task, string(intent.State)
		return api.PostDeploymentStatus(ctx, forge.DeploymentStatusRequest{
			DeploymentID: made.ID, State: intent.State, Description: intent.Description, LogURL: intent.LogURL,
		})
	})
	if err != nil {
		return false, err
	}
	return r.writeDown(ctx, func(s *v1alpha1.BatchReleaseStatus) { s.Report = next })
}

// writeDown records what was reported. It reports false if the release is gone.
func (r *reporting) writeDown(ctx context.Context, change func(*v1alpha1.BatchReleaseStatus)) (bool, error) {
	written, done, err := keep(ctx, r.cluster, r.told, r.release, "write report of release", func(release *v1alpha1.BatchRelease) { change(&release.Status) })
	r.release = written
	return done, err
}

// SyncReports tells the forge of files that are wrong.
type SyncReports struct {
	cluster
	forges *connections
	words  report.Options
	told   *kube.Overlay[*v1alpha1.ReleaseSource]
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=releasesources/status,verbs=patch

// Reconcile posts what is new about a source.
func (r *SyncReports) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	source := &v1alpha1.ReleaseSource{}
	if err := r.client.Get(ctx, req.NamespacedName, source); err != nil {
		r.forges.forget(req.NamespacedName)
		r.told.Forget(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if source.Spec.Forge == nil {
		r.forges.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	source, _ = r.told.Newest(source)
	post, due := report.Sync(source, r.words)
	var err error
	switch {
	case due:
		due, err = r.forges.post(ctx, source, source.UID, post.Status)
	case !r.forges.of(source).current(source):
		err = r.forges.ask(ctx, source, false, func(context.Context, *github.Client) error { return nil })
	}
	if due && err == nil {
		after := report.After(source.Status.Report, post, r.clock.Now())
		_, _, err = keep(ctx, r.cluster, r.told, source, "write report of source", func(source *v1alpha1.ReleaseSource) { source.Status.Report = after })
	}
	return r.forges.outcome(ctx, source, err)
}

// post sends a status. It reports false for one that the forge has refused before: that is not sent
// again until the source changes.
func (c *connections) post(ctx context.Context, source *v1alpha1.ReleaseSource, of types.UID, status forge.StatusRequest) (bool, error) {
	refusal := refusal{status, source.UID, source.Generation}
	if c.refused.has(of, refusal) {
		return false, nil
	}
	err := c.ask(ctx, source, false, func(ctx context.Context, api *github.Client) error {
		_, err := api.PostStatus(ctx, status)
		return err
	})
	if forge.KindOf(err) == forge.Invalid {
		c.refused.add(of, refusal)
	}
	return err == nil, err
}

// outcome returns what a reconciliation that asked a forge returns: when to try again.
func (c *connections) outcome(ctx context.Context, source *v1alpha1.ReleaseSource, err error) (reconcile.Result, error) {
	switch {
	case err == nil:
		return reconcile.Result{}, nil
	case ctx.Err() != nil, forge.KindOf(err) == "":
		return reconcile.Result{}, errors.Join(err, ctx.Err())
	case forge.KindOf(err) == forge.Invalid:
		return reconcile.Result{}, nil
	}
	again := c.clock.Now().Add(intervalOf(source))
	if at := retryAt(err); !at.IsZero() {
		again = at
	}
	return reconcile.Result{RequeueAfter: max(again.Sub(c.clock.Now()), time.Millisecond)}, nil
}

// refusal is a status that the forge of a source, as it was then, did not take.
type refusal struct {
	status     forge.StatusRequest
	source     types.UID
	generation int64
}

// refusals remembers the last one of each object.
type refusals struct {
	mu  sync.Mutex
	all map[types.UID]refusal
}

func (r *refusals) has(of types.UID, one refusal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[of] == one
}

func (r *refusals) add(of types.UID, one refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[types.UID]refusal{}
	}
	r.all[of] = one
}

// sightings remembers which releases this process has seen.
type sightings struct {
	mu  sync.Mutex
	all map[types.NamespacedName]types.UID
}

// first reports whether this is the first time.
func (s *sightings) first(key types.NamespacedName, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.all[key] == uid
	s.all[key] = uid
	return !seen
}

func (s *sightings) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}
