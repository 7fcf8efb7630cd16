package approvals

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/forge"
)

// do carries out one intent. It reports false if the gate is not the version that was judged.
func (a *asking) do(ctx context.Context, facts lifecycle.GateFacts, intent lifecycle.GateIntent) (bool, error) {
	switch intent := intent.(type) {
	case lifecycle.ClaimGate:
		return a.claim(ctx, intent)
	case lifecycle.OpenPull:
		return a.open(ctx, facts, intent)
	case lifecycle.MovePull:
		return a.move(ctx, facts, intent)
	case lifecycle.RewritePull:
		err := a.onForge(ctx, facts, func(ctx context.Context, api forge.Client) error {
			_, err := api.UpdateApproval(ctx, intent.Number, intent.Text.Title, intent.Text.Body)
			return err
		})
		return a.recordAfter(ctx, err, func(s *v1alpha1.GateStatus) { s.PullRequest.TextDigest = intent.Text.Digest })
	case lifecycle.KeepNames:
		return true, a.keepNames(ctx, facts.Source, intent.Added)
	case lifecycle.RecordGate:
		return a.gate.recordDecision(ctx, intent.Status)
	case lifecycle.CommentPull:
		err := a.onForge(ctx, facts, func(ctx context.Context, api forge.Client) error {
			return api.Comment(ctx, intent.Number, intent.Text)
		})
		return a.recordAfter(ctx, err, func(s *v1alpha1.GateStatus) { s.Refusal.ToldDigest = intent.Digest })
	case lifecycle.ClosePull:
		err := a.onForge(ctx, facts, func(ctx context.Context, api forge.Client) error {
			return api.CloseApproval(ctx, intent.Number, intent.Branch, intent.Comment)
		})
		if err == nil || forge.KindOf(err) == forge.NotFound { // one that is gone is closed
			return true, nil
		}
		return false, err
	case lifecycle.RemoveBranch:
		err := a.onForge(ctx, facts, func(ctx context.Context, api forge.Client) error {
			return api.DeleteBranch(ctx, intent.Branch)
		})
		return err == nil, err
	case lifecycle.LetGateGo:
		return a.letGo(ctx)
	}
	return false, nil
}

// onForge sends a request to the forge of the gate's source.
func (a *asking) onForge(ctx context.Context, facts lifecycle.GateFacts, what func(context.Context, forge.Client) error) error {
	return a.forges.ask(ctx, facts.Source, needsTeams(a.gate.object), what)
}

// recordAfter records a change of the status, unless the request before it failed.
func (a *asking) recordAfter(ctx context.Context, err error, change func(*v1alpha1.GateStatus)) (bool, error) {
	if err != nil {
		return false, err
	}
	return a.gate.record(ctx, change)
}

// claim records on the gate that something is about to be opened for it, and where.
func (a *asking) claim(ctx context.Context, intent lifecycle.ClaimGate) (bool, error) {
	return a.gate.patch(ctx, "claim gate", func(g *v1alpha1.Gate) {
		controllerutil.AddFinalizer(g, v1alpha1.ForgeFinalizer)
		if g.Labels == nil {
			g.Labels = map[string]string{}
		}
		g.Labels[v1alpha1.SourceLabel] = intent.SourceLabel
	})
}

// letGo removes the finalizer, as nothing is open for the gate.
func (a *asking) letGo(ctx context.Context) (bool, error) {
	return a.gate.patch(ctx, "let gate go", func(g *v1alpha1.Gate) { controllerutil.RemoveFinalizer(g, v1alpha1.ForgeFinalizer) })
}

// open opens the pull request of the gate, or finds an earlier one, and records it.
func (a *asking) open(ctx context.Context, facts lifecycle.GateFacts, intent lifecycle.OpenPull) (bool, error) {
	g := a.gate.object
	var pull forge.PullRequest
	err := a.onForge(ctx, facts, func(ctx context.Context, api forge.Client) error {
		var err error
		pull, err = api.OpenChange(ctx, intent.Request)
		return err
	})
	if err == nil && pull.State == forge.PullOpen { // people may have answered any other: ask at once
		a.polls.done(g, gate.RecordOnBranch(g, facts.Source), a.gates.clock.Now().Add(pollAfter(facts.Source, a.gates.clock.Now())))
	}
	return a.recordAfter(ctx, err, func(s *v1alpha1.GateStatus) { *s = lifecycle.OpenedStatus(a.gate.object, facts.Source, intent, pull) })
}

// move puts the branch of the pull request onto the tracked branch again, where that was rewritten.
func (a *asking) move(ctx context.Context, facts lifecycle.GateFacts, intent lifecycle.MovePull) (bool, error) {
	moved := ""
	err := a.onForge(ctx, facts, func(ctx context.Context, api forge.Client) error {
		var err error
		moved, err = api.MoveChange(ctx, intent.Request, intent.MadeOn)
		return err
	})
	if err != nil || moved == "" {
		return err == nil, err
	}
	return a.gate.record(ctx, func(s *v1alpha1.GateStatus) { s.PullRequest.Base, s.PullRequest.Head = intent.Request.Tip, moved })
}
