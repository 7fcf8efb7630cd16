package approvals

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
)

// seldom is the number of a source's intervals between two reads of a revert's pull request. Git
// shows its merge, so nothing waits for them.
const seldom = 10

// Reverts opens a pull request for each rollback that Git did not request, and closes it once it is
// no longer needed.
type Reverts struct {
	releases store[*v1alpha1.BatchRelease]
	forges   *connections
}

// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/status,verbs=patch

// Reconcile opens, follows or closes the pull request of a release's rollback.
func (r *Reverts) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	release, found, err := r.releases.read(ctx, req.NamespacedName, &v1alpha1.BatchRelease{})
	if err != nil || !found || lifecycle.RevertStageOf(release) == lifecycle.RevertIdle {
		return reconcile.Result{}, err
	}
	source, err := r.releases.sourceOf(ctx, r.releases.client, release)
	if err != nil || source == nil || source.Spec.Forge == nil {
		return reconcile.Result{}, err
	}
	if alone, err := r.alone(ctx, release); err != nil || !alone {
		return reconcile.Result{RequeueAfter: seldom * intervalOf(source)}, err
	}
	p := &reverting{Reverts: r, on: &subject[*v1alpha1.BatchRelease]{store: r.releases, object: release}, source: source}
	p.on.written = p.announce
	result, err := r.forges.outcome(ctx, source, p.follow(ctx))
	if err == nil && result.RequeueAfter == 0 && lifecycle.RevertStageOf(p.on.object) != lifecycle.RevertIdle {
		result.RequeueAfter = seldom * intervalOf(source)
	}
	return result, err
}

// alone reports whether a release asks by itself for its template to be put back.
func (r *Reverts) alone(ctx context.Context, release *v1alpha1.BatchRelease) (bool, error) {
	if release.Spec.Train == "" || lifecycle.RevertStageOf(release) != lifecycle.RevertUnclaimed {
		return true, nil
	}
	var train v1alpha1.BatchRelease
	err := r.releases.live.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: release.Spec.Train}, &train)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return err == nil && report.RevertsAlone(release, &train), err
}

// reverting follows the revert of one release.
type reverting struct {
	*Reverts
	on     *subject[*v1alpha1.BatchRelease]
	source *v1alpha1.ReleaseSource
	// first reports whether this pass made the claim, so that nothing can have been opened before.
	first bool
}

// follow runs stage by stage. It closes the pull request of an earlier rollback before it claims
// another, and opens what it claims at once.
func (r *reverting) follow(ctx context.Context) error {
	for {
		stage := lifecycle.RevertStageOf(r.on.object)
		next := func(facts lifecycle.RevertFacts) []lifecycle.RevertIntent {
			return lifecycle.NextOfRevert(r.on.object, facts)
		}
		if _, done, err := run(ctx, r.gather, next, r.do); err != nil || !done {
			return r.recordTrouble(ctx, err)
		}
		if stage != lifecycle.RevertOver && stage != lifecycle.RevertUnclaimed || stage == lifecycle.RevertStageOf(r.on.object) {
			return nil
		}
	}
}

// gather reads the facts that the stage needs.
func (r *reverting) gather(ctx context.Context) (lifecycle.RevertFacts, error) {
	facts := lifecycle.RevertFacts{First: r.first}
	var err error
	switch lifecycle.RevertStageOf(r.on.object) {
	case lifecycle.RevertUnclaimed:
		facts.NewBranch = newBranch(r.on.object)
	case lifecycle.RevertUnopened:
		facts.Proposal, err = r.proposal(ctx)
	case lifecycle.RevertOpened, lifecycle.RevertOver:
		facts.Pull, err = r.pull(ctx)
	case lifecycle.RevertIdle:
	}
	return facts, err
}

// pull returns the pull request that was opened, or was about to be; nil if there is none.
func (r *reverting) pull(ctx context.Context) (*forge.PullRequest, error) {
	revert, pull, found := r.on.object.Status.Revert, forge.PullRequest{}, false
	err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api forge.Client) error {
		var err error
		if revert.PullRequest == nil {
			pull, found, err = api.FindChange(ctx, forge.ChangeRequest{
				Branch: lifecycle.BranchOfRevert(r.on.object), Base: r.source.Branch(), Path: revert.File, ByBranch: true,
			})
			return err
		}
		pull, err = api.PullRequest(ctx, int(revert.PullRequest.Number))
		found = err == nil
		return err
	})
	switch {
	case forge.KindOf(err) == forge.NotFound && lifecycle.RevertStageOf(r.on.object) == lifecycle.RevertOver:
		return nil, nil
	case err != nil || !found:
		return nil, err
	}
	return &pull, nil
}

// newBranch returns a random name for the branch of a revert. No other account can make the branch
// first.
func newBranch(release *v1alpha1.BatchRelease) string {
	const random = 12
	return lifecycle.BranchOfNewRevert(release) + "-" + strings.ToLower(rand.Text()[:random])
}

// do carries out one intent. It reports false if the release is not the version that was decided
// on.
func (r *reverting) do(ctx context.Context, _ lifecycle.RevertFacts, intent lifecycle.RevertIntent) (bool, error) {
	switch intent := intent.(type) {
	case lifecycle.ClaimRevert:
		claimed, err := r.on.patchStatus(ctx, writeRevert, func(release *v1alpha1.BatchRelease) { release.Status.Revert = &intent.Revert })
		r.first = claimed
		return claimed, err
	case lifecycle.OpenRevert:
		return r.open(ctx, intent.Request)
	case lifecycle.RecordRevert:
		return r.record(ctx, intent.Revert)
	case lifecycle.ClosePull:
		err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api forge.Client) error {
			return api.CloseApproval(ctx, intent.Number, intent.Branch, intent.Comment)
		})
		return err == nil, err
	case lifecycle.RemoveBranch:
		err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api forge.Client) error {
			return api.DeleteBranch(ctx, intent.Branch)
		})
		return err == nil, err
	}
	return false, nil
}

// open opens the pull request, or finds an earlier one, and records it.
func (r *reverting) open(ctx context.Context, request forge.ChangeRequest) (bool, error) {
	var pull forge.PullRequest
	err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api forge.Client) error {
		var err error
		pull, err = api.OpenChange(ctx, request)
		return err
	})
	if err != nil {
		return false, err
	}
	return r.record(ctx, lifecycle.OpenedRevert(r.on.object, r.source, pull))
}

// recordTrouble records a lasting problem with opening the pull request.
func (r *reverting) recordTrouble(ctx context.Context, err error) error {
	next, told := lifecycle.TroubledRevert(r.on.object, err)
	if !told {
		return err
	}
	_, problem := r.record(ctx, next)
	return errors.Join(err, problem)
}

// writeRevert is the action of errors.
const writeRevert = "write revert of release"

// record writes the revert, which only approvals writes.
func (r *reverting) record(ctx context.Context, next v1alpha1.Revert) (bool, error) {
	return r.on.changeStatus(ctx, writeRevert, func(release *v1alpha1.BatchRelease) { release.Status.Revert = &next })
}

// announce publishes the event of a new state.
func (r *reverting) announce(last *v1alpha1.BatchRelease) {
	before, now := last.Status.Revert, r.on.object.Status.Revert
	claimed := now.State == v1alpha1.RevertOpening && (before == nil || before.Attempt != now.Attempt)
	if claimed || before != nil && before.State == now.State && before.Message == now.Message {
		return
	}
	kind := corev1.EventTypeNormal
	if now.State == v1alpha1.RevertRefused || now.State == v1alpha1.RevertOpening {
		kind = corev1.EventTypeWarning
	}
	r.releases.events.Eventf(r.on.object, nil, kind, "Revert"+string(now.State), "Revert", "%s", now.Message)
}
