package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/forge/record"
)

// ForgeGates answers one Gate at a time that waits for something on a forge.
type ForgeGates struct {
	*Reconciler
	forges *connections
	looks  *looks
	prefix string
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=gates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=releasesources,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// Reconcile opens what g needs on the forge, looks at it when there is reason to, has it judged,
// and cleans up when it is no longer needed.
func (r *ForgeGates) Reconcile(ctx context.Context, g *v1alpha1.Gate) (reconcile.Result, error) {
	g = r.own.newest(g)
	before := g.ResourceVersion
	result, err := r.reconcile(ctx, g)
	if g.ResourceVersion != before {
		r.own.keep(g)
	}
	return result, err
}

func (r *ForgeGates) reconcile(ctx context.Context, g *v1alpha1.Gate) (reconcile.Result, error) {
	if over(g) {
		r.looks.forget(g.UID)
		return r.tidy(ctx, g)
	}
	facts, err := r.facts(ctx, r.client, g)
	if err != nil || !gate.Awaited(g, facts.Release) {
		return reconcile.Result{}, err
	}
	if g.Status.Force != nil || facts.Source == nil || facts.Source.Spec.Forge == nil {
		_, _, err := r.decide(ctx, g, facts)
		return reconcile.Result{}, err // a gate that was forced comes back by its watch, and is tidied up after
	}
	err = r.look(ctx, g, facts)
	if ctx.Err() == nil && forge.KindOf(err) != "" {
		return r.trouble(ctx, g, facts, err)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if over(g) {
		r.looks.forget(g.UID)
		return r.tidy(ctx, g)
	}
	return reconcile.Result{RequeueAfter: r.until(r.looks.next(g))}, nil
}

// over tells whether a gate needs nothing any more but what was opened for it to be closed.
func over(g *v1alpha1.Gate) bool {
	return g.DeletionTimestamp != nil || g.Status.Decision == v1alpha1.DecisionPassed
}

// until is the time until then; 0, which means none, if there is no such time.
func (r *ForgeGates) until(then time.Time) time.Duration {
	if then.IsZero() {
		return 0
	}
	return max(then.Sub(r.clock.Now()), time.Millisecond)
}

// look asks the forge, if there is reason to, and judges what it says.
func (r *ForgeGates) look(ctx context.Context, g *v1alpha1.Gate, facts gate.Facts) error {
	if g.Spec.Type == v1alpha1.GatePullRequest && !opened(g) {
		return r.open(ctx, g, facts)
	}
	onBranch := gate.RecordOnBranch(g, facts.Source)
	if !r.looks.due(g, onBranch, r.clock.Now()) {
		return nil
	}
	known := &gate.ForgeFacts{OwnPrefix: r.prefix}
	err := r.forges.ask(ctx, facts.Source, needsTeams(g), func(ctx context.Context, api *github.Client) error {
		return r.gather(ctx, api, g, facts, known)
	})
	if err != nil {
		return err
	}
	r.looks.done(g, onBranch, r.clock.Now().Add(intervalOf(facts.Source)))
	if err := r.keepNames(ctx, g, facts.Source, known); err != nil {
		r.looks.forget(g.UID)
		return err
	}
	facts.Forge = known
	_, recorded, err := r.decide(ctx, g, facts)
	if !recorded {
		r.looks.forget(g.UID) // what was seen is lost
	}
	if err != nil || !recorded {
		return err
	}
	return r.tellRefusal(ctx, g, facts)
}

func opened(g *v1alpha1.Gate) bool {
	return g.Status.PullRequest != nil && g.Status.PullRequest.Number != 0
}

func needsTeams(g *v1alpha1.Gate) bool {
	policy := g.Spec.Policy.PullRequest
	return policy != nil && len(policy.Teams) > 0
}

// gather reads what the gate is judged by.
func (r *ForgeGates) gather(ctx context.Context, api *github.Client, g *v1alpha1.Gate, facts gate.Facts, into *gate.ForgeFacts) error {
	var err error
	if into.Self, err = api.Self(ctx); err != nil {
		return err
	}
	switch policy := g.Spec.Policy; g.Spec.Type {
	case v1alpha1.GatePullRequest:
		return r.gatherApproval(ctx, api, g, facts, into)
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

// gatherApproval reads the pull request, and tells people there what has changed since it was opened.
func (r *ForgeGates) gatherApproval(ctx context.Context, api *github.Client, g *v1alpha1.Gate, facts gate.Facts, into *gate.ForgeFacts) error {
	approval, err := api.ReadApproval(ctx, gate.Query(g, facts))
	if err != nil {
		return err
	}
	into.Approval = &approval
	facts.Forge = into
	if approval.Permissions, err = api.Permissions(ctx, gate.Candidates(g, facts)...); err != nil {
		return err
	}
	if approval.PullRequest.State != forge.PullOpen {
		return nil
	}
	text, err := r.textOf(ctx, g, facts.Release)
	if err != nil {
		return err
	}
	if err := r.move(ctx, api, g, facts, text); err != nil {
		return err
	}
	if text.digest == g.Status.PullRequest.TextDigest {
		return nil
	}
	if _, err := api.UpdateApproval(ctx, approval.PullRequest.Number, text.title, text.body); err != nil {
		return err
	}
	status := *g.Status.DeepCopy()
	status.PullRequest.TextDigest = text.digest
	_, err = r.record(ctx, g, facts.Release, status)
	return err
}

// open makes the pull request of a gate, or finds the one that was made before.
func (r *ForgeGates) open(ctx context.Context, g *v1alpha1.Gate, facts gate.Facts) error {
	first, claimed, err := r.claim(ctx, g, facts.Release)
	if err != nil || !claimed {
		return err
	}
	text, err := r.textOf(ctx, g, facts.Release)
	if err != nil {
		return err
	}
	request := requestFor(g, facts.Source, text)
	request.First = first
	var pull forge.PullRequest
	err = r.forges.ask(ctx, facts.Source, needsTeams(g), func(ctx context.Context, api *github.Client) error {
		pull, err = api.OpenChange(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	status := *g.Status.DeepCopy()
	status.Decision = v1alpha1.DecisionWaiting
	status.Message = fmt.Sprintf("waits for pull request #%d to be merged: %s", pull.Number, pull.URL)
	status.PullRequest = &v1alpha1.PullRequestReference{
		Source: v1alpha1.SourceReference{Namespace: facts.Source.Namespace, Name: facts.Source.Name},
		Branch: request.Branch, Number: int64(pull.Number), URL: pull.URL, TextDigest: text.digest,
		Base: request.Tip,
	}
	if pull.State == forge.PullOpen { // else it was answered before it was written down: look at once
		r.looks.done(g, gate.RecordOnBranch(g, facts.Source), r.clock.Now().Add(intervalOf(facts.Source)))
	}
	_, err = r.record(ctx, g, facts.Release, status)
	return err
}

// claim writes onto a gate that something is about to be opened for it, and where, before it is. It
// reports whether nothing can have been before, and false if the gate is not what it was.
func (r *ForgeGates) claim(ctx context.Context, g *v1alpha1.Gate, release *v1alpha1.BatchRelease) (first, claimed bool, err error) {
	if controllerutil.ContainsFinalizer(g, v1alpha1.ForgeFinalizer) {
		return false, true, nil
	}
	before := g.DeepCopy()
	controllerutil.AddFinalizer(g, v1alpha1.ForgeFinalizer)
	if g.Labels == nil {
		g.Labels = map[string]string{}
	}
	g.Labels[v1alpha1.SourceLabel] = release.Labels[v1alpha1.SourceLabel]
	err = r.client.Patch(ctx, g, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		before.DeepCopyInto(g)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("claim gate: %w", err)
	}
	return true, true, nil
}

// text is what people read of a pull request.
type text struct{ title, body, digest string }

func (r *ForgeGates) textOf(ctx context.Context, g *v1alpha1.Gate, release *v1alpha1.BatchRelease) (text, error) {
	batch, err := r.batchOf(ctx, g, release)
	if err != nil {
		return text{}, err
	}
	title, body := report.Approval(g, release, batch)
	return text{title: title, body: body, digest: digestOf(title, body)}, nil
}

func requestFor(g *v1alpha1.Gate, source *v1alpha1.ReleaseSource, text text) forge.ChangeRequest {
	return forge.ChangeRequest{
		Branch:  record.Branch(g),
		Base:    source.Branch(),
		Path:    record.Path(g.Namespace, g.Spec.ReleaseRef.Name),
		Content: record.Format(record.Of(g)),
		Tip:     source.Status.ObservedCommit,
		Tree:    source.Status.ObservedTree,
		Message: report.CommitMessage(g),
		Title:   text.title,
		Body:    text.body,
	}
}

// trouble says on the gate that the forge could not be asked, and when that is tried again. A
// failure that comes alone is not worth a word.
func (r *ForgeGates) trouble(ctx context.Context, g *v1alpha1.Gate, facts gate.Facts, err error) (reconcile.Result, error) {
	paused, isPaused := errors.AsType[*pausedError](err)
	again := r.clock.Now().Add(intervalOf(facts.Source))
	if isPaused {
		again = paused.until
	}
	result := reconcile.Result{RequeueAfter: r.until(again)}
	if isPaused && !paused.lasting() {
		return result, nil
	}
	status := *g.Status.DeepCopy()
	if status.Decision == "" {
		status.Decision = v1alpha1.DecisionWaiting
	}
	status.Message = "the forge can't be asked: " + err.Error()
	_, err = r.record(ctx, g, facts.Release, status)
	return result, err
}

// patience is how long a gate that is to go is kept for the sake of what is open on a forge
// that can't be reached.
const patience = 15 * time.Minute

// tidy closes what was opened for a gate that is passed or void, and then lets the gate go.
func (r *ForgeGates) tidy(ctx context.Context, g *v1alpha1.Gate) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(g, v1alpha1.ForgeFinalizer) {
		return reconcile.Result{}, nil
	}
	source, err := r.sourceOf(ctx, r.client, g)
	if err != nil {
		return reconcile.Result{}, err
	}
	if source != nil && source.Spec.Forge != nil {
		err := r.closeAll(ctx, g, source)
		switch {
		case ctx.Err() != nil, err != nil && forge.KindOf(err) == "":
			return reconcile.Result{}, errors.Join(err, ctx.Err())
		case err != nil && !r.givesUp(g, err):
			return reconcile.Result{RequeueAfter: r.until(r.againAfter(err, source))}, nil
		case err != nil:
			r.events.Eventf(g, nil, "Warning", "NotClosed", "CloseApproval",
				"%s of %s is left open: %v", record.Branch(g), client.ObjectKeyFromObject(source), err)
		}
	}
	return reconcile.Result{}, r.release(ctx, g)
}

// givesUp tells whether what is left open on the forge is left for good: what it refuses it will
// refuse again, and a gate that is to go is not kept for ever.
func (r *ForgeGates) givesUp(g *v1alpha1.Gate, err error) bool {
	refused := []forge.Kind{forge.NotFound, forge.Forbidden, forge.Invalid}
	return slices.Contains(refused, forge.KindOf(err)) ||
		g.DeletionTimestamp != nil && r.clock.Since(g.DeletionTimestamp.Time) > patience
}

func (r *ForgeGates) againAfter(err error, source *v1alpha1.ReleaseSource) time.Time {
	if again := retryAt(err); !again.IsZero() {
		return again
	}
	return r.clock.Now().Add(intervalOf(source))
}

// closeAll closes the pull request of a gate that is void, and removes the branch.
func (r *ForgeGates) closeAll(ctx context.Context, g *v1alpha1.Gate, source *v1alpha1.ReleaseSource) error {
	release := &v1alpha1.BatchRelease{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: g.Spec.ReleaseRef.Name}, release)
	switch {
	case apierrors.IsNotFound(err):
		release = nil
	case err != nil:
		return fmt.Errorf("read release of gate: %w", err)
	}
	return r.forges.ask(ctx, source, false, func(ctx context.Context, api *github.Client) error {
		switch {
		case g.Status.Decision == v1alpha1.DecisionPassed && g.Forced() == nil:
			repository, err := api.Repository(ctx)
			if err != nil || repository.DeleteBranchOnMerge { // the forge has removed it
				return err
			}
		case opened(g):
			err := api.CloseApproval(ctx, int(g.Status.PullRequest.Number), report.Voided(g, release))
			if err != nil && forge.KindOf(err) != forge.NotFound {
				return err
			}
		}
		return api.DeleteBranch(ctx, record.Branch(g))
	})
}

// release takes the finalizer off: nothing is open for the gate any more.
func (r *ForgeGates) release(ctx context.Context, g *v1alpha1.Gate) error {
	before := g.DeepCopy()
	controllerutil.RemoveFinalizer(g, v1alpha1.ForgeFinalizer)
	err := r.client.Patch(ctx, g, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err): // the watch brings what it is now
		before.DeepCopyInto(g)
	case err != nil:
		return fmt.Errorf("let gate go: %w", err)
	}
	return nil
}
