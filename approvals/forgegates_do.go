package approvals

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/kube"
)

// carryOut does what is to be done for a gate, as far as it comes: where the gate is not what was
// judged the rest is dropped, and the watch brings what it is.
func (r *ForgeGates) carryOut(ctx context.Context, g *v1alpha1.Gate, facts lifecycle.GateFacts) error {
	done, err := carryOut(ctx, lifecycle.NextOfGate(g, facts), func(ctx context.Context, intent lifecycle.GateIntent) (bool, error) {
		return r.do(ctx, g, facts, intent)
	})
	if !done {
		r.polls.forget(g.UID) // what was seen is lost
	}
	return err
}

// do carries out one intent. It reports false if the gate is not what was judged.
func (r *ForgeGates) do(ctx context.Context, g *v1alpha1.Gate, facts lifecycle.GateFacts, intent lifecycle.GateIntent) (bool, error) {
	status := *g.Status.DeepCopy()
	switch intent := intent.(type) {
	case lifecycle.ClaimGate:
		return r.claim(ctx, g, facts.Release, intent)
	case lifecycle.OpenPull:
		return r.open(ctx, g, facts, intent)
	case lifecycle.MovePull:
		moved, err := r.move(ctx, g, facts, intent)
		if err != nil || !moved {
			return err == nil, err
		}
		status.PullRequest.Base = intent.Request.Tip
	case lifecycle.RewritePull:
		err := r.onForge(ctx, g, facts, func(ctx context.Context, api *github.Client) error {
			_, err := api.UpdateApproval(ctx, intent.Number, intent.Text.Title, intent.Text.Body)
			return err
		})
		if err != nil {
			return false, err
		}
		status.PullRequest.TextDigest = intent.Text.Digest
	case lifecycle.KeepNames:
		return true, r.keepNames(ctx, facts.Source, intent.Added)
	case lifecycle.RecordGate:
		intent.Status.PullRequest = status.PullRequest
		status = intent.Status
	case lifecycle.CommentPull:
		err := r.onForge(ctx, g, facts, func(ctx context.Context, api *github.Client) error {
			return api.Comment(ctx, intent.Number, intent.Text)
		})
		if err != nil {
			return false, err
		}
		status.Refusal.ToldDigest = intent.Digest
	case lifecycle.ClosePull:
		err := r.closePull(ctx, g, facts, intent)
		return err == nil, err
	case lifecycle.RemoveBranch:
		err := r.onForge(ctx, g, facts, func(ctx context.Context, api *github.Client) error {
			return api.DeleteBranch(ctx, intent.Branch)
		})
		return err == nil, err
	case lifecycle.LetGateGo:
		return r.letGo(ctx, g, facts.Release)
	}
	return r.judge.record(ctx, g, facts.Release, status)
}

// onForge does something on the forge of a gate's source.
func (r *ForgeGates) onForge(ctx context.Context, g *v1alpha1.Gate, facts lifecycle.GateFacts, what func(context.Context, *github.Client) error) error {
	return r.forges.ask(ctx, facts.Source, needsTeams(g), what)
}

// claim records on a gate that something is about to be opened for it, and where, before it is.
func (r *ForgeGates) claim(ctx context.Context, g *v1alpha1.Gate, release *v1alpha1.BatchRelease, intent lifecycle.ClaimGate) (bool, error) {
	wanted := g.DeepCopy()
	controllerutil.AddFinalizer(wanted, v1alpha1.ForgeFinalizer)
	if wanted.Labels == nil {
		wanted.Labels = map[string]string{}
	}
	wanted.Labels[v1alpha1.SourceLabel] = intent.SourceLabel
	return r.patch(ctx, g, wanted, release, "claim gate")
}

// letGo takes the finalizer off: nothing is open for the gate any more.
func (r *ForgeGates) letGo(ctx context.Context, g *v1alpha1.Gate, release *v1alpha1.BatchRelease) (bool, error) {
	wanted := g.DeepCopy()
	controllerutil.RemoveFinalizer(wanted, v1alpha1.ForgeFinalizer)
	return r.patch(ctx, g, wanted, release, "let gate go")
}

// patch writes a gate. It reports false if the gate is not what it was: the watch brings what it
// is.
func (r *ForgeGates) patch(ctx context.Context, g, wanted *v1alpha1.Gate, release *v1alpha1.BatchRelease, what string) (bool, error) {
	outcome := kube.Patch(ctx, r.judge.client, g, wanted)
	if _, is := outcome.(kube.Written); is {
		r.judge.take(g, wanted)
	}
	done, err := holds(outcome, what)
	if err != nil {
		r.judge.tellUnwritten(g, release, outcome)
	}
	return done, err
}

// open makes the pull request of a gate, or finds the one that was made before, and records it.
func (r *ForgeGates) open(ctx context.Context, g *v1alpha1.Gate, facts lifecycle.GateFacts, intent lifecycle.OpenPull) (bool, error) {
	var pull forge.PullRequest
	err := r.onForge(ctx, g, facts, func(ctx context.Context, api *github.Client) error {
		var err error
		pull, err = api.OpenChange(ctx, intent.Request)
		return err
	})
	if err != nil {
		return false, err
	}
	if pull.State == forge.PullOpen { // else it was answered before it was recorded: ask at once
		r.polls.done(g, gate.RecordOnBranch(g, facts.Source), r.judge.clock.Now().Add(intervalOf(facts.Source)))
	}
	return r.judge.record(ctx, g, facts.Release, lifecycle.OpenedStatus(g, facts.Source, intent, pull))
}

// closePull closes a pull request. One that is gone is closed.
func (r *ForgeGates) closePull(ctx context.Context, g *v1alpha1.Gate, facts lifecycle.GateFacts, intent lifecycle.ClosePull) error {
	err := r.onForge(ctx, g, facts, func(ctx context.Context, api *github.Client) error {
		return api.CloseApproval(ctx, intent.Number, intent.Comment)
	})
	if forge.KindOf(err) == forge.NotFound {
		return nil
	}
	return err
}

// move reports whether the branch of a pull request had to be put onto the tracked branch again.
func (r *ForgeGates) move(ctx context.Context, g *v1alpha1.Gate, facts lifecycle.GateFacts, intent lifecycle.MovePull) (moved bool, err error) {
	err = r.onForge(ctx, g, facts, func(ctx context.Context, api *github.Client) error {
		var err error
		moved, err = api.MoveChange(ctx, intent.Request, intent.MadeOn)
		return err
	})
	return moved, err
}
