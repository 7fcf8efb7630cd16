package approvals

import (
	"context"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge/github"
)

// tellRefusal says below a pull request that was merged in vain why it was, and what helps. It is said once.
func (r *ForgeGates) tellRefusal(ctx context.Context, g *v1alpha1.Gate, facts gate.Facts) error {
	if g.Status.Refusal == nil {
		return nil
	}
	text := report.Refused(g)
	digest := digestOf(text)
	if g.Status.Refusal.ToldDigest == digest {
		return nil
	}
	err := r.forges.ask(ctx, facts.Source, needsTeams(g), func(ctx context.Context, api *github.Client) error {
		return api.Comment(ctx, int(g.Status.PullRequest.Number), text)
	})
	if err != nil {
		r.looks.forget(g.UID)
		return err
	}
	status := *g.Status.DeepCopy()
	status.Refusal.ToldDigest = digest
	_, err = r.record(ctx, g, facts.Release, status)
	return err
}

// move keeps the branch of a pull request on the tracked branch, if that was rewritten.
func (r *ForgeGates) move(ctx context.Context, api *github.Client, g *v1alpha1.Gate, facts gate.Facts, text text) error {
	madeOn, request := g.Status.PullRequest.Base, requestFor(g, facts.Source, text)
	if madeOn == "" || request.Tip == "" || madeOn == request.Tip {
		return nil
	}
	moved, err := api.MoveChange(ctx, request, madeOn)
	if err != nil || !moved {
		return err
	}
	status := *g.Status.DeepCopy()
	status.PullRequest.Base = request.Tip
	_, err = r.record(ctx, g, facts.Release, status)
	return err
}
