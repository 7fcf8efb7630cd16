package approvals

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
)

// ForgeGates decides Gates that wait for something on a forge.
type ForgeGates struct {
	gates  store[*v1alpha1.Gate]
	forges *connections
	polls  *polls
	// prefix begins the contexts of our own statuses.
	prefix string
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=releasesources,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// Reconcile opens and decides a gate, and cleans up once the gate needs nothing else.
func (r *ForgeGates) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g, found, err := r.gates.read(ctx, req.NamespacedName, &v1alpha1.Gate{})
	if err != nil || !found {
		return reconcile.Result{}, err
	}
	a := &asking{ForgeGates: r, gate: newJudging(r.gates, g)}
	if !lifecycle.GateIsOver(g) {
		result, err := a.answer(ctx)
		if err != nil || !lifecycle.GateIsOver(a.gate.object) {
			return result, err
		}
	}
	r.polls.forget(g.UID)
	return a.tidy(ctx)
}

// asking decides one gate by what its forge says.
type asking struct {
	*ForgeGates
	gate *judging
}

// run carries out the intents for the gate.
func (a *asking) run(ctx context.Context, gather func(context.Context) (lifecycle.GateFacts, error)) (lifecycle.GateFacts, error) {
	next := func(facts lifecycle.GateFacts) []lifecycle.GateIntent {
		return lifecycle.NextOfGate(a.gate.object, facts)
	}
	facts, done, err := run(ctx, gather, next, a.do)
	if !done {
		a.polls.forget(a.gate.object.UID) // the answer of the forge is lost
	}
	return facts, err
}

// answer opens the gate on the forge, and decides it.
func (a *asking) answer(ctx context.Context) (reconcile.Result, error) {
	facts, err := a.run(ctx, a.gather)
	switch {
	case ctx.Err() == nil && forge.KindOf(err) != "":
		return a.recordTrouble(ctx, facts.Source, err)
	case err != nil, facts.Stage == lifecycle.GateIdle, facts.Stage == lifecycle.GateUnasked:
		return reconcile.Result{}, err
	default:
		return reconcile.Result{RequeueAfter: a.gates.until(a.polls.next(a.gate.object))}, nil
	}
}

// gather reads the facts that the gate's stage needs.
func (a *asking) gather(ctx context.Context) (lifecycle.GateFacts, error) {
	g, facts := a.gate.object, lifecycle.GateFacts{}
	var err error
	if facts.Facts, err = a.gate.factsOf(ctx); err != nil {
		return facts, err
	}
	facts.Stage = lifecycle.GateStageOf(g, facts.Facts)
	switch facts.Stage {
	case lifecycle.GateUnasked:
		return a.gate.decide(ctx, facts)
	case lifecycle.GateUnopened:
		facts.Text, err = a.gates.textOf(ctx, g, facts.Release)
	case lifecycle.GateAsked:
		if onBranch := gate.RecordOnBranch(g, facts.Source); a.polls.due(g, onBranch, a.gates.clock.Now()) {
			return a.gatherAsked(ctx, facts, onBranch)
		}
	case lifecycle.GateIdle, lifecycle.GateOver:
	}
	return facts, err
}

// gatherAsked asks the forge. Names that the source does not know yet are compared with a live read
// of the cluster.
func (a *asking) gatherAsked(ctx context.Context, facts lifecycle.GateFacts, onBranch bool) (lifecycle.GateFacts, error) {
	g, known := a.gate.object, &gate.ForgeFacts{OwnPrefix: a.prefix}
	err := a.onForge(ctx, facts, func(ctx context.Context, api forge.Client) error {
		return askForge(ctx, api, g, facts.Facts, known)
	})
	if err != nil {
		return facts, err
	}
	facts.Forge = known
	a.polls.done(g, onBranch, a.gates.clock.Now().Add(pollAfter(facts.Source, a.gates.clock.Now())))
	if known.Approval != nil && known.Approval.PullRequest.State == forge.PullOpen {
		if facts.Text, err = a.gates.textOf(ctx, g, facts.Release); err != nil {
			return facts, err
		}
	}
	named := gate.Named(g, known)
	if len(unmet(facts.Source, named)) == 0 {
		return a.gate.decide(ctx, facts)
	}
	facts, err = a.gate.decideLive(ctx, facts)
	facts.Unmet = unmet(facts.Source, named)
	return facts, err
}

// askForge reads the forge's facts on a gate.
func askForge(ctx context.Context, api forge.Client, g *v1alpha1.Gate, facts gate.Facts, into *gate.ForgeFacts) error {
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

// recordTrouble records on the gate that the forge failed, and schedules the next try. It does not
// record a single failure.
func (a *asking) recordTrouble(ctx context.Context, source *v1alpha1.ReleaseSource, err error) (reconcile.Result, error) {
	result := reconcile.Result{RequeueAfter: a.gates.until(a.againAfter(err, source))}
	if paused, is := errors.AsType[*pausedError](err); is && !paused.lasting() {
		return result, nil
	}
	status := lifecycle.TroubledStatus(a.gate.object, err)
	_, err = a.gate.record(ctx, func(s *v1alpha1.GateStatus) { *s = status })
	return result, err
}

// tidy closes what was opened for a gate that has passed or is void, and then releases the gate.
func (a *asking) tidy(ctx context.Context) (reconcile.Result, error) {
	facts, err := a.run(ctx, a.gatherOver)
	switch {
	case err == nil:
		return reconcile.Result{}, nil
	case ctx.Err() != nil, forge.KindOf(err) == "":
		return reconcile.Result{}, errors.Join(err, ctx.Err())
	case !lifecycle.GivesUp(a.gate.object, err, a.gates.clock.Now()):
		again := lifecycle.CloseAgain(a.gate.object, a.againAfter(err, facts.Source))
		return reconcile.Result{RequeueAfter: a.gates.until(again)}, nil
	}
	g := a.gate.object
	a.gates.events.Eventf(g, nil, "Warning", "NotClosed", "CloseApproval",
		"%s of %s is left open: %v", record.Branch(g), client.ObjectKeyFromObject(facts.Source), err)
	_, err = a.letGo(ctx)
	return reconcile.Result{}, err
}

// gatherOver reads the facts to close what was opened for the gate.
func (a *asking) gatherOver(ctx context.Context) (lifecycle.GateFacts, error) {
	g, facts := a.gate.object, lifecycle.GateFacts{Stage: lifecycle.GateOver}
	if !lifecycle.Claimed(g) {
		return facts, nil
	}
	var err error
	if facts.Source, err = a.gates.sourceOf(ctx, a.gates.client, g); err != nil || facts.Source == nil || facts.Source.Spec.Forge == nil {
		return facts, err
	}
	if facts.Release, err = releaseOf(ctx, a.gates.client, g); err != nil || !lifecycle.PassedOnForge(g) {
		return facts, err
	}
	a.gate.release = facts.Release
	err = a.forges.ask(ctx, facts.Source, false, func(ctx context.Context, api forge.Client) error {
		repository, err := api.Repository(ctx)
		facts.BranchGoes = repository.DeleteBranchOnMerge
		return err
	})
	return facts, err
}

// againAfter returns when to ask again after an error of the forge.
func (a *asking) againAfter(err error, source *v1alpha1.ReleaseSource) time.Time {
	if again := retryAt(err); !again.IsZero() {
		return again
	}
	return a.gates.clock.Now().Add(intervalOf(source))
}
