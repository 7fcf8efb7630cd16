package approvals

import (
	"context"
	"errors"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/forge/record"
)

// ForgeGates answers one Gate at a time that waits for something on a forge.
type ForgeGates struct {
	judge  judge
	forges *connections
	polls  *polls
	prefix string
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=releasesources,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// Reconcile gathers what is known of g, carries out what follows from it, and cleans up when g is
// no longer needed.
func (r *ForgeGates) Reconcile(ctx context.Context, g *v1alpha1.Gate) (reconcile.Result, error) {
	g, _ = r.judge.own.Newest(g)
	if !lifecycle.GateIsOver(g) {
		result, err := r.answer(ctx, g)
		if err != nil || !lifecycle.GateIsOver(g) {
			return result, err
		}
	}
	r.polls.forget(g.UID)
	return r.tidy(ctx, g)
}

// answer opens a gate on the forge, and judges it.
func (r *ForgeGates) answer(ctx context.Context, g *v1alpha1.Gate) (reconcile.Result, error) {
	facts, err := r.gather(ctx, g)
	if err == nil {
		err = r.carryOut(ctx, g, facts)
	}
	switch stage := lifecycle.GateStageOf(g, facts.Facts); {
	case ctx.Err() == nil && forge.KindOf(err) != "":
		return r.trouble(ctx, g, facts, err)
	case err != nil, stage == lifecycle.GateIdle, stage == lifecycle.GateUnasked:
		return reconcile.Result{}, err
	default:
		return reconcile.Result{RequeueAfter: r.judge.until(r.polls.next(g))}, nil
	}
}

// gather reads what a gate is judged by, as far as its stage needs it.
func (r *ForgeGates) gather(ctx context.Context, g *v1alpha1.Gate) (lifecycle.GateFacts, error) {
	facts := lifecycle.GateFacts{Now: r.judge.clock.Now()}
	var err error
	if facts.Facts, err = r.judge.factsOf(ctx, r.judge.client, g); err != nil {
		return facts, err
	}
	switch lifecycle.GateStageOf(g, facts.Facts) {
	case lifecycle.GateUnasked:
		facts.Facts, err = r.judge.judged(ctx, g, facts.Facts)
	case lifecycle.GateUnopened:
		facts.Text, err = r.judge.textOf(ctx, g, facts.Release)
	case lifecycle.GateAsked:
		if onBranch := gate.RecordOnBranch(g, facts.Source); r.polls.due(g, onBranch, facts.Now) {
			facts, err = r.gatherAsked(ctx, g, facts, onBranch)
		}
	case lifecycle.GateIdle, lifecycle.GateOver:
	}
	return facts, err
}

// gatherAsked asks the forge. What would open the gate, and whom names mean that were not met
// before, is checked against a live read of the cluster.
func (r *ForgeGates) gatherAsked(ctx context.Context, g *v1alpha1.Gate, facts lifecycle.GateFacts, onBranch bool) (lifecycle.GateFacts, error) {
	known := &gate.ForgeFacts{OwnPrefix: r.prefix}
	err := r.forges.ask(ctx, facts.Source, needsTeams(g), func(ctx context.Context, api *github.Client) error {
		return askForge(ctx, api, g, facts.Facts, known)
	})
	if err != nil {
		return facts, err
	}
	facts.Forge = known
	r.polls.done(g, onBranch, r.judge.clock.Now().Add(intervalOf(facts.Source)))
	defer func() {
		if err != nil {
			r.polls.forget(g.UID)
		}
	}()
	if known.Approval != nil && known.Approval.PullRequest.State == forge.PullOpen {
		if facts.Text, err = r.judge.textOf(ctx, g, facts.Release); err != nil {
			return facts, err
		}
	}
	named := gate.Named(g, known)
	if len(unmet(facts.Source, named)) == 0 {
		facts.Facts, err = r.judge.judged(ctx, g, facts.Facts)
		return facts, err
	}
	facts.Facts, err = r.judge.reread(ctx, g, facts.Facts)
	facts.Unmet = unmet(facts.Source, named)
	return facts, err
}

// askForge reads what the forge says of what a gate waits for.
func askForge(ctx context.Context, api *github.Client, g *v1alpha1.Gate, facts gate.Facts, into *gate.ForgeFacts) error {
	var err error
	if into.Self, err = api.Self(ctx); err != nil {
		return err
	}
	switch policy := g.Spec.Policy; g.Spec.Type {
	case v1alpha1.GatePullRequest:
		approval, err := api.ReadApproval(ctx, gate.Query(g, facts))
		if err != nil {
			return err
		}
		into.Approval, facts.Forge = &approval, into
		approval.Permissions, err = api.Permissions(ctx, gate.Candidates(g, facts)...)
		return err
	case v1alpha1.GateCommitStatus:
		if into.Creators, err = api.Accounts(ctx, policy.CommitStatus.Creators...); err != nil {
			return err
		}
		into.Statuses, err = api.CommitStatuses(ctx, g.Spec.Commit, policy.CommitStatus.Context, into.Creators...)
	case v1alpha1.GateCheckRun:
		slug, _, _ := forge.Numbered(policy.CheckRun.App)
		into.CheckRuns, err = api.CheckRuns(ctx, g.Spec.Commit, policy.CheckRun.Name, slug)
	}
	return err
}

func needsTeams(g *v1alpha1.Gate) bool {
	policy := g.Spec.Policy.PullRequest
	return policy != nil && len(policy.Teams) > 0
}

// textOf returns the text of a gate's pull request for people.
func (c cluster) textOf(ctx context.Context, g *v1alpha1.Gate, release *v1alpha1.BatchRelease) (lifecycle.Text, error) {
	batch, err := c.batchOf(ctx, g, release)
	if err != nil {
		return lifecycle.Text{}, err
	}
	title, body := report.Approval(g, release, batch)
	return lifecycle.Text{Title: title, Body: body, Digest: lifecycle.Digest(title, body)}, nil
}

// trouble says on the gate that the forge could not be asked, and when that is tried again. A
// single failure is not reported.
func (r *ForgeGates) trouble(ctx context.Context, g *v1alpha1.Gate, facts lifecycle.GateFacts, err error) (reconcile.Result, error) {
	paused, isPaused := errors.AsType[*pausedError](err)
	again := r.judge.clock.Now().Add(intervalOf(facts.Source))
	if isPaused {
		again = paused.until
	}
	result := reconcile.Result{RequeueAfter: r.judge.until(again)}
	if isPaused && !paused.lasting() {
		return result, nil
	}
	_, err = r.judge.record(ctx, g, facts.Release, lifecycle.TroubledStatus(g, err))
	return result, err
}

// patience is how long a gate that is to go is kept for the sake of what is open on a forge
// that can't be reached.
const patience = 15 * time.Minute

// tidy closes what was opened for a gate that is passed or void, and then lets the gate go.
func (r *ForgeGates) tidy(ctx context.Context, g *v1alpha1.Gate) (reconcile.Result, error) {
	facts, err := r.gatherOver(ctx, g)
	if err == nil {
		err = r.carryOut(ctx, g, facts)
	}
	switch {
	case err == nil:
		return reconcile.Result{}, nil
	case ctx.Err() != nil, forge.KindOf(err) == "":
		return reconcile.Result{}, errors.Join(err, ctx.Err())
	case !r.givesUp(g, err):
		return reconcile.Result{RequeueAfter: r.judge.until(r.againAfter(err, facts.Source))}, nil
	}
	r.judge.events.Eventf(g, nil, "Warning", "NotClosed", "CloseApproval",
		"%s of %s is left open: %v", record.Branch(g), client.ObjectKeyFromObject(facts.Source), err)
	_, err = r.letGo(ctx, g, nil)
	return reconcile.Result{}, err
}

// gatherOver reads what is needed to close what was opened for a gate.
func (r *ForgeGates) gatherOver(ctx context.Context, g *v1alpha1.Gate) (lifecycle.GateFacts, error) {
	facts := lifecycle.GateFacts{}
	if !lifecycle.Claimed(g) {
		return facts, nil
	}
	var err error
	if facts.Source, err = r.judge.sourceOf(ctx, r.judge.client, g); err != nil || facts.Source == nil || facts.Source.Spec.Forge == nil {
		return facts, err
	}
	if facts.Release, err = releaseOf(ctx, r.judge.client, g); err != nil || !lifecycle.PassedOnForge(g) {
		return facts, err
	}
	err = r.forges.ask(ctx, facts.Source, false, func(ctx context.Context, api *github.Client) error {
		repository, err := api.Repository(ctx)
		facts.BranchGoes = repository.DeleteBranchOnMerge
		return err
	})
	return facts, err
}

// givesUp reports whether what is left open on the forge is left for good: what it refuses it will
// refuse again, and a gate that is to go is not kept for ever.
func (r *ForgeGates) givesUp(g *v1alpha1.Gate, err error) bool {
	refused := []forge.Kind{forge.NotFound, forge.Forbidden, forge.Invalid}
	return slices.Contains(refused, forge.KindOf(err)) ||
		g.DeletionTimestamp != nil && r.judge.clock.Since(g.DeletionTimestamp.Time) > patience
}

func (r *ForgeGates) againAfter(err error, source *v1alpha1.ReleaseSource) time.Time {
	if again := retryAt(err); !again.IsZero() {
		return again
	}
	return r.judge.clock.Now().Add(intervalOf(source))
}
