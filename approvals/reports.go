package approvals

import (
	"context"
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
)

// verifyWithin is the age up to which a report is compared with the forge's, once after a start: a
// request of the previous process may have arrived later.
const verifyWithin = 10 * time.Minute

// Reports reports the progress of each release to its forge.
type Reports struct {
	releases store[*v1alpha1.BatchRelease]
	forges   *connections
	words    report.Options
	seen     *sightings
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/status,verbs=patch

// Reconcile posts what is new about a release.
func (r *Reports) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	release, found, err := r.releases.read(ctx, req.NamespacedName, &v1alpha1.BatchRelease{})
	if err != nil || !found {
		r.seen.forget(req.NamespacedName)
		return reconcile.Result{}, err
	}
	source, err := r.releases.sourceOf(ctx, r.releases.client, release)
	if err != nil || source == nil || source.Spec.Forge == nil {
		return reconcile.Result{}, err
	}
	p := &reporting{Reports: r, on: &subject[*v1alpha1.BatchRelease]{store: r.releases, object: release}, source: source}
	next := func(facts lifecycle.ReportFacts) []lifecycle.ReportIntent {
		return lifecycle.NextOfReport(release, facts)
	}
	_, _, err = run(ctx, p.gather, next, p.do)
	if kind := forge.KindOf(err); kind == forge.Forbidden || kind == forge.NotFound || kind == forge.Invalid {
		r.releases.events.Eventf(release, source, corev1.EventTypeWarning, "ReportFailed", "Report", "%v", err)
	}
	result, err := r.forges.outcome(ctx, source, err)
	if err == nil && result.RequeueAfter == 0 {
		result.RequeueAfter = r.releases.until(p.held)
	}
	return result, err
}

// reporting reports one release.
type reporting struct {
	*Reports
	on     *subject[*v1alpha1.BatchRelease]
	source *v1alpha1.ReleaseSource
	// held is when a status that was held back is due; zero for none.
	held time.Time
}

// gather reads the facts for the reports of the release. Once in a process it compares the last
// report with the forge's.
func (r *reporting) gather(ctx context.Context) (lifecycle.ReportFacts, error) {
	release := r.on.object
	facts := lifecycle.ReportFacts{Words: r.words, Now: r.releases.clock.Now(), Environment: r.source.Spec.Forge.Environment}
	var err error
	if facts.Gates, err = r.gatesOf(ctx, release); err != nil {
		return facts, err
	}
	last, key := release.Status.Report, client.ObjectKeyFromObject(release)
	if !r.seen.first(key, release.UID) || last == nil || last.Time == nil || r.releases.clock.Since(last.Time.Time) > verifyWithin {
		return facts, nil
	}
	err = r.onForge(ctx, func(ctx context.Context, api forge.Client) error {
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

// gatesOf returns the gates that a release waits for, or has waited for.
func (r *Reports) gatesOf(ctx context.Context, release *v1alpha1.BatchRelease) ([]v1alpha1.Gate, error) {
	var found []v1alpha1.Gate
	for _, reference := range release.Status.Gates {
		var g v1alpha1.Gate
		err := r.releases.client.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: reference.Name}, &g)
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

// do carries out one intent. It reports false if the release is gone.
func (r *reporting) do(ctx context.Context, _ lifecycle.ReportFacts, intent lifecycle.ReportIntent) (bool, error) {
	switch intent := intent.(type) {
	case lifecycle.RepeatStatus:
		return r.repeat(ctx)
	case lifecycle.PostStatus:
		if may, err := r.mayReport(ctx, intent.Post.Status.SHA); !may {
			return err == nil, err
		}
		return r.post(ctx, intent)
	case lifecycle.HoldStatus:
		r.held = intent.Until
		return true, nil
	case lifecycle.EndDeployment:
		err := r.onForge(ctx, func(ctx context.Context, api forge.Client) error {
			return api.PostDeploymentStatus(ctx, forge.DeploymentStatusRequest{
				DeploymentID: intent.ID, State: forge.DeploymentInactive, Description: "superseded",
			})
		})
		if err == nil || forge.KindOf(err) == forge.NotFound { // one that is gone is ended
			return true, nil
		}
		return false, err
	case lifecycle.Deploy:
		if may, err := r.mayReport(ctx, intent.Request.SHA); !may {
			return err == nil, err
		}
		return r.deploy(ctx, intent)
	}
	return false, nil
}

// onForge sends a request to the forge of the release's source.
func (r *reporting) onForge(ctx context.Context, what func(context.Context, forge.Client) error) error {
	return r.forges.ask(ctx, r.source, false, what)
}

// mayReport reports whether a commit may get reports. Anyone who can write a followed workload can
// name any commit, so one off the tracked branch gets none.
func (r *reporting) mayReport(ctx context.Context, sha string) (bool, error) {
	if r.on.object.Spec.Follow == "" {
		return true, nil
	}
	var found bool
	err := r.onForge(ctx, func(ctx context.Context, api forge.Client) error {
		var err error
		found, err = api.Has(ctx, r.source.Branch(), sha)
		return err
	})
	if err == nil && !found {
		r.releases.events.Eventf(r.on.object, r.source, corev1.EventTypeWarning, "ReportFailed", "Report",
			"commit %s, which the workload names, is not on branch %s of ReleaseSource %s: it gets no status", sha, r.source.Branch(), client.ObjectKeyFromObject(r.source))
	}
	return found && err == nil, err
}

// repeat posts the last status again.
func (r *reporting) repeat(ctx context.Context) (bool, error) {
	last := r.on.object.Status.Report
	posted, err := r.forges.post(ctx, r.source, r.on.object.UID, report.Again(last))
	if err != nil {
		r.seen.forget(client.ObjectKeyFromObject(r.on.object))
	}
	if err != nil || !posted {
		return err == nil, err
	}
	return r.record(ctx, report.OfRelease, report.Repeated(last, r.releases.clock.Now()))
}

// post posts one status, unless the forge has rejected it before.
func (r *reporting) post(ctx context.Context, intent lifecycle.PostStatus) (bool, error) {
	posted, err := r.forges.post(ctx, r.source, r.on.object.UID, intent.Post.Status)
	if err != nil || !posted {
		return err == nil, err
	}
	last := *intent.Of.Last(&r.on.object.Status)
	return r.record(ctx, intent.Of, report.After(last, intent.Post, r.releases.clock.Now()))
}

// deploy shows a reported release as a deployment.
func (r *reporting) deploy(ctx context.Context, intent lifecycle.Deploy) (bool, error) {
	if r.on.object.Status.Report == nil {
		return true, nil
	}
	var made forge.Deployment
	err := r.onForge(ctx, func(ctx context.Context, api forge.Client) error {
		var err error
		if made, err = api.OpenDeployment(ctx, intent.Request); err != nil {
			return err
		}
		return api.PostDeploymentStatus(ctx, forge.DeploymentStatusRequest{
			DeploymentID: made.ID, State: intent.State, Description: intent.Description, LogURL: intent.LogURL,
		})
	})
	if err != nil {
		return false, err
	}
	return r.record(ctx, report.OfRelease, lifecycle.Deployed(r.on.object.Status.Report, intent, made.ID))
}

// record writes the last report on a subject. It reports false if the release is gone.
func (r *reporting) record(ctx context.Context, of report.Subject, last *v1alpha1.ForgeReport) (bool, error) {
	return r.on.changeStatus(ctx, "write report of release", func(release *v1alpha1.BatchRelease) { *of.Last(&release.Status) = last })
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
