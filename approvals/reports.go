package approvals

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
)

// doubtful is how young a report must be to be compared with what the forge has, when a process sees
// it for the first time: the process before may have left a request on its way that came in later.
const doubtful = 10 * time.Minute

// Reports tells the forge how each release goes.
type Reports struct {
	*Reconciler
	forges *connections
	words  report.Options
	seen   *sightings
	told   *written[*v1alpha1.BatchRelease]
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/status,verbs=patch

// Reconcile posts what is new about a release.
func (r *Reports) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	release := &v1alpha1.BatchRelease{}
	if err := r.client.Get(ctx, req.NamespacedName, release); err != nil {
		r.seen.forget(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	release = r.told.newest(release)
	source, err := r.sourceOf(ctx, r.client, release)
	if err != nil || source == nil || source.Spec.Forge == nil {
		return reconcile.Result{}, err
	}
	gates, err := r.gatesOf(ctx, release)
	if err != nil {
		return reconcile.Result{}, err
	}
	err = r.confirm(ctx, release, source)
	if err == nil {
		err = r.tellWaiting(ctx, release, source)
	}
	if err == nil {
		err = r.post(ctx, release, source, gates)
	}
	if err == nil {
		err = r.deploy(ctx, release, source)
	}
	if kind := forge.KindOf(err); kind == forge.Forbidden || kind == forge.NotFound || kind == forge.Invalid {
		r.events.Eventf(release, source, corev1.EventTypeWarning, "ReportFailed", "Report", "%v", err)
	}
	return r.forges.outcome(ctx, source, err)
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

// post tells what is new, one status after the other. Each is written down before the next is sent.
func (r *Reports) post(ctx context.Context, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource, gates []v1alpha1.Gate) error {
	for _, post := range report.Next(release, gates, r.words) {
		if !post.Posted {
			posted, err := r.forges.post(ctx, source, release.UID, post.Status)
			if err != nil {
				return err
			}
			if !posted {
				continue
			}
		}
		told := report.After(release.Status.Report, post, r.clock.Now())
		written, err := r.writeDown(ctx, release, func(s *v1alpha1.BatchReleaseStatus) { s.Report = told })
		if err != nil || !written {
			return err
		}
	}
	return nil
}

// tellWaiting tells of commits that can't be released, or not yet, one status after the other.
func (r *Reports) tellWaiting(ctx context.Context, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) error {
	for _, post := range report.Waiting(release, r.words) {
		posted, err := r.forges.post(ctx, source, release.UID, post.Status)
		if err != nil || !posted {
			return err
		}
		told := report.After(release.Status.Refusal, post, r.clock.Now())
		written, err := r.writeDown(ctx, release, func(s *v1alpha1.BatchReleaseStatus) { s.Refusal = told })
		if err != nil || !written {
			return err
		}
	}
	return nil
}

// confirm compares what was reported last with what the forge has, once for each process. What
// differs is told again.
func (r *Reports) confirm(ctx context.Context, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) error {
	last := release.Status.Report
	key := client.ObjectKeyFromObject(release)
	if !r.seen.first(key, release.UID) || last == nil || last.Time == nil || r.clock.Since(last.Time.Time) > doubtful {
		return nil
	}
	var standing []forge.Status
	err := r.forges.ask(ctx, source, false, func(ctx context.Context, api *github.Client) error {
		var err error
		standing, err = api.CommitStatuses(ctx, last.Commit, last.Context)
		return err
	})
	if err != nil {
		r.seen.forget(key)
		return err
	}
	if len(standing) > 0 && string(standing[0].State) == last.State &&
		standing[0].Description == forge.Description(last.Description) {
		return nil
	}
	again := report.Again(last)
	posted, err := r.forges.post(ctx, source, release.UID, again)
	if err != nil {
		r.seen.forget(key)
	}
	if err != nil || !posted {
		return err
	}
	told := report.Repeated(last, r.clock.Now())
	_, err = r.writeDown(ctx, release, func(s *v1alpha1.BatchReleaseStatus) { s.Report = told })
	return err
}

// deploy has the release shown as a deployment, if the source asks for it.
func (r *Reports) deploy(ctx context.Context, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) error {
	environment, last := source.Spec.Forge.Environment, release.Status.Report
	if environment == "" || last == nil {
		return nil
	}
	request, state, description, ok := report.Deployment(release, environment)
	task := request.Task + "@" + request.SHA
	if !ok || last.DeploymentTask == task && last.DeploymentState == string(state) {
		return nil
	}
	next := last.DeepCopy()
	err := r.forges.ask(ctx, source, false, func(ctx context.Context, api *github.Client) error {
		if err := endDeployment(ctx, api, last, task); err != nil {
			return err
		}
		made, err := api.OpenDeployment(ctx, request)
		if err != nil {
			return err
		}
		next.DeploymentID, next.DeploymentTask, next.DeploymentState = made.ID, task, string(state)
		return api.PostDeploymentStatus(ctx, forge.DeploymentStatusRequest{
			DeploymentID: made.ID, State: state, Description: description, LogURL: last.URL,
		})
	})
	if err != nil {
		return err
	}
	_, err = r.writeDown(ctx, release, func(s *v1alpha1.BatchReleaseStatus) { s.Report = next })
	return err
}

// endDeployment ends one that another release took over from.
func endDeployment(ctx context.Context, api *github.Client, last *v1alpha1.ForgeReport, task string) error {
	if last.DeploymentID == 0 || last.DeploymentTask == task || last.DeploymentState != string(forge.DeploymentInProgress) {
		return nil
	}
	return api.PostDeploymentStatus(ctx, forge.DeploymentStatusRequest{
		DeploymentID: last.DeploymentID, State: forge.DeploymentInactive, Description: "superseded",
	})
}

// writeDown keeps what was told, on the version of the release that it was told of. It reports false
// if that is an older one by now: the watch brings the newer, and what is still new is told then.
func (r *Reports) writeDown(ctx context.Context, release *v1alpha1.BatchRelease, told func(*v1alpha1.BatchReleaseStatus)) (bool, error) {
	before := release.DeepCopy()
	told(&release.Status)
	if equality.Semantic.DeepEqual(before.Status, release.Status) {
		return true, nil
	}
	// Nobody else writes these fields, and what was told stays true whatever else has changed.
	err := r.client.Status().Patch(ctx, release, client.MergeFrom(before))
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("write report of release: %w", err)
	}
	r.told.keep(release)
	return true, nil
}

// SyncReports tells the forge of files that are wrong.
type SyncReports struct {
	*Reconciler
	forges *connections
	words  report.Options
	told   *written[*v1alpha1.ReleaseSource]
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=releasesources/status,verbs=patch

// Reconcile posts what is new about a source.
func (r *SyncReports) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	source := &v1alpha1.ReleaseSource{}
	if err := r.client.Get(ctx, req.NamespacedName, source); err != nil {
		r.forges.forget(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if source.Spec.Forge == nil {
		r.forges.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	source = r.told.newest(source)
	post, due := report.Sync(source, r.words)
	var err error
	switch {
	case due:
		due, err = r.forges.post(ctx, source, source.UID, post.Status)
	case !r.forges.of(source).current(source):
		err = r.forges.ask(ctx, source, false, func(context.Context, *github.Client) error { return nil })
	}
	if due && err == nil {
		err = r.writeDown(ctx, source, report.After(source.Status.Report, post, r.clock.Now()))
	}
	return r.forges.outcome(ctx, source, err)
}

// writeDown keeps what was told. Nobody else writes this field.
func (r *SyncReports) writeDown(ctx context.Context, source *v1alpha1.ReleaseSource, told *v1alpha1.ForgeReport) error {
	before := source.DeepCopy()
	source.Status.Report = told
	if err := r.client.Status().Patch(ctx, source, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.told.keep(source)
	return nil
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

// outcome is what a reconciliation that asked a forge returns: when to try again.
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
