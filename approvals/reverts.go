package approvals

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/kube"
)

// seldom is how many of a source's intervals are between two looks at the pull request of a revert.
// Nothing waits for it: Git shows when it was merged.
const seldom = 10

// Reverts brings Git back in line with rollbacks that Git did not request: it opens a pull request
// for each, and closes it when it is no longer needed.
type Reverts struct {
	cluster
	forges *connections
	own    *kube.Overlay[*v1alpha1.BatchRelease]
}

// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/status,verbs=patch

// Reconcile brings the pull request of a release's rollback to where it should be.
func (r *Reverts) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	release := &v1alpha1.BatchRelease{}
	if err := r.client.Get(ctx, req.NamespacedName, release); err != nil {
		r.own.Forget(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	release, _ = r.own.Newest(release)
	if lifecycle.RevertStageOf(release) == lifecycle.RevertIdle {
		return reconcile.Result{}, nil
	}
	source, err := r.sourceOf(ctx, r.client, release)
	if err != nil || source == nil || source.Spec.Forge == nil {
		return reconcile.Result{}, err
	}
	revert := &reverting{Reverts: r, release: release, source: source}
	result, err := r.forges.outcome(ctx, source, revert.follow(ctx))
	if err == nil && result.RequeueAfter == 0 && lifecycle.RevertStageOf(revert.release) != lifecycle.RevertIdle {
		result.RequeueAfter = seldom * intervalOf(source)
	}
	return result, err
}

// reverting is one release whose revert is in progress, as it was last read or written.
type reverting struct {
	*Reverts
	release *v1alpha1.BatchRelease
	source  *v1alpha1.ReleaseSource
	// first says that the claim is of this pass: nothing can have been opened before.
	first bool
}

// follow carries out what is to be done, stage by stage: what was opened for an earlier rollback is
// closed before another is claimed, and what is claimed is opened at once.
func (r *reverting) follow(ctx context.Context) error {
	for {
		stage := lifecycle.RevertStageOf(r.release)
		facts, err := r.gather(ctx, stage)
		if err != nil {
			return r.trouble(ctx, err)
		}
		if done, err := carryOut(ctx, lifecycle.NextOfRevert(r.release, facts), r.do); err != nil || !done {
			return r.trouble(ctx, err)
		}
		if stage != lifecycle.RevertOver && stage != lifecycle.RevertUnclaimed || stage == lifecycle.RevertStageOf(r.release) {
			return nil
		}
	}
}

// gather reads what the stage needs.
func (r *reverting) gather(ctx context.Context, stage lifecycle.RevertStage) (lifecycle.RevertFacts, error) {
	facts := lifecycle.RevertFacts{First: r.first}
	var err error
	switch stage {
	case lifecycle.RevertUnclaimed:
		facts.NewBranch = newBranch(r.release)
	case lifecycle.RevertUnopened:
		facts.Proposal, err = r.proposal(ctx)
	case lifecycle.RevertOpened, lifecycle.RevertOver:
		facts.Pull, err = r.pull(ctx)
	case lifecycle.RevertIdle:
	}
	return facts, err
}

// pull finds the pull request that was, or was about to be, opened; nil if there is none.
func (r *reverting) pull(ctx context.Context) (*forge.PullRequest, error) {
	revert, pull, found := r.release.Status.Revert, forge.PullRequest{}, false
	err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api *github.Client) error {
		var err error
		if revert.PullRequest == nil {
			pull, found, err = api.FindChange(ctx, forge.ChangeRequest{
				Branch: lifecycle.BranchOfRevert(r.release), Base: r.source.Branch(), Path: revert.File, ByBranch: true,
			})
			return err
		}
		pull, err = api.PullRequest(ctx, int(revert.PullRequest.Number))
		found = err == nil
		return err
	})
	switch {
	case forge.KindOf(err) == forge.NotFound && lifecycle.RevertStageOf(r.release) == lifecycle.RevertOver:
		return nil, nil
	case err != nil || !found:
		return nil, err
	}
	return &pull, nil
}

// newBranch names a branch for a revert, which nobody can make before us.
func newBranch(release *v1alpha1.BatchRelease) string {
	const random = 12
	return lifecycle.BranchOfNewRevert(release) + "-" + strings.ToLower(rand.Text()[:random])
}

// do carries out one intent. It reports false if the release is not what it was: the watch brings
// what it is.
func (r *reverting) do(ctx context.Context, intent lifecycle.RevertIntent) (bool, error) {
	switch intent := intent.(type) {
	case lifecycle.ClaimRevert:
		claimed, err := r.claim(ctx, intent.Revert)
		r.first = claimed
		return claimed, err
	case lifecycle.OpenRevert:
		return r.open(ctx, intent.Request)
	case lifecycle.RecordRevert:
		return r.write(ctx, intent.Revert)
	case lifecycle.ClosePull:
		err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api *github.Client) error {
			return api.CloseApproval(ctx, intent.Number, intent.Comment)
		})
		return err == nil, err
	case lifecycle.RemoveBranch:
		err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api *github.Client) error {
			return api.DeleteBranch(ctx, intent.Branch)
		})
		return err == nil, err
	}
	return false, nil
}

// open makes the pull request, or finds the one that was made before, and records the result.
func (r *reverting) open(ctx context.Context, request forge.ChangeRequest) (bool, error) {
	var pull forge.PullRequest
	err := r.forges.ask(ctx, r.source, false, func(ctx context.Context, api *github.Client) error {
		var err error
		pull, err = api.OpenChange(ctx, request)
		return err
	})
	if err != nil {
		return false, err
	}
	return r.write(ctx, lifecycle.OpenedRevert(r.release, r.source, pull))
}

// trouble records what keeps a pull request from being opened, where people should know that.
func (r *reverting) trouble(ctx context.Context, err error) error {
	next, told := lifecycle.TroubledRevert(r.release, err)
	if !told {
		return err
	}
	_, problem := r.write(ctx, next)
	return errors.Join(err, problem)
}

// claim records, on the version of the release that was decided on, that something is about to be
// opened.
func (r *reverting) claim(ctx context.Context, next v1alpha1.Revert) (bool, error) {
	wanted := r.release.DeepCopy()
	wanted.Status.Revert = &next
	return r.took(wanted, kube.PatchStatus(ctx, r.client, r.release, wanted))
}

// write keeps what is new. Nobody else writes it, and it stays true whatever else changes.
func (r *reverting) write(ctx context.Context, next v1alpha1.Revert) (bool, error) {
	written, outcome := kube.ChangeStatus(ctx, r.client, r.live, r.release, func(release *v1alpha1.BatchRelease) {
		release.Status.Revert = &next
	})
	return r.took(written, outcome)
}

func (r *reverting) took(written *v1alpha1.BatchRelease, outcome kube.Outcome) (bool, error) {
	if _, is := outcome.(kube.Written); is {
		before := r.release.Status.Revert
		r.release = written
		r.own.Saw(written)
		r.announce(written, before)
	}
	return holds(outcome, "write revert of release")
}

// announce publishes the event of a state that people should know about.
func (r *Reverts) announce(release *v1alpha1.BatchRelease, before *v1alpha1.Revert) {
	now := release.Status.Revert
	claimed := now.State == v1alpha1.RevertOpening && (before == nil || before.Attempt != now.Attempt)
	if claimed || before != nil && before.State == now.State && before.Message == now.Message {
		return
	}
	kind := corev1.EventTypeNormal
	if now.State == v1alpha1.RevertRefused || now.State == v1alpha1.RevertOpening {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(release, nil, kind, "Revert"+string(now.State), "Revert", "%s", now.Message)
}
