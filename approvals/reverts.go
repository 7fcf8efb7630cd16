package approvals

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
)

// seldom is how many of a source's intervals are between two looks at the pull request of a revert. Nothing
// waits for it: that it was merged is seen in Git.
const seldom = 10

// Reverts has Git follow rollbacks that it did not ask for: it opens a pull request for each, and closes
// it when it is no longer needed.
type Reverts struct {
	*Reconciler
	forges *connections
	own    *written[*v1alpha1.BatchRelease]
}

// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases/status,verbs=patch

// Reconcile brings the pull request of a release's rollback to where it should be.
func (r *Reverts) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	release := &v1alpha1.BatchRelease{}
	if err := r.client.Get(ctx, req.NamespacedName, release); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	release = r.own.newest(release)
	if !concernsReverts(release) {
		return reconcile.Result{}, nil
	}
	source, err := r.sourceOf(ctx, r.client, release)
	if err != nil || source == nil || source.Spec.Forge == nil {
		return reconcile.Result{}, err
	}
	err = r.follow(ctx, release, source)
	result, err := r.forges.outcome(ctx, source, err)
	if err == nil && result.RequeueAfter == 0 && concernsReverts(release) {
		result.RequeueAfter = seldom * intervalOf(source)
	}
	return result, err
}

// concernsReverts tells whether there is, or is to be, a pull request of a release's rollback.
func concernsReverts(release *v1alpha1.BatchRelease) bool {
	last := release.Status.Revert
	return report.RevertWanted(release) && (last == nil || last.Attempt != release.Status.Attempt || last.State != v1alpha1.RevertRefused) ||
		pends(last)
}

// pends reports whether a pull request may be open.
func pends(revert *v1alpha1.Revert) bool {
	open := []v1alpha1.RevertState{v1alpha1.RevertOpening, v1alpha1.RevertOpen, v1alpha1.RevertDeclined}
	return revert != nil && slices.Contains(open, revert.State)
}

// follow makes one step: what was opened for an earlier rollback is closed before another is opened.
func (r *Reverts) follow(ctx context.Context, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) error {
	last := release.Status.Revert
	current := last != nil && last.Attempt == release.Status.Attempt
	switch wanted := report.RevertWanted(release); {
	case pends(last) && !(wanted && current):
		if err := r.finish(ctx, release, source); err != nil || !wanted {
			return err
		}
		return r.begin(ctx, release, source)
	case wanted && !current:
		return r.begin(ctx, release, source)
	case last.State == v1alpha1.RevertOpening:
		return r.open(ctx, release, source, false)
	}
	return r.look(ctx, release, source)
}

// begin writes down that something is about to be opened, before it is.
func (r *Reverts) begin(ctx context.Context, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) error {
	status := &release.Status
	claim := v1alpha1.Revert{
		Attempt: status.Attempt, From: status.Rollback.From, To: status.RollbackTo,
		State: v1alpha1.RevertOpening, File: templateFile(release),
	}
	claim.Branch = newBranch(release, &claim)
	written, err := r.write(ctx, release, claim, true)
	if err != nil || !written {
		return err
	}
	return r.open(ctx, release, source, true)
}

// templateFile is the file that the template of a release stands in.
func templateFile(release *v1alpha1.BatchRelease) string {
	if file := release.Annotations[v1alpha1.TemplateFileAnnotation]; file != "" {
		return file
	}
	return release.Annotations[v1alpha1.FileAnnotation]
}

// look sees whether people have closed the pull request, or opened it again.
func (r *Reverts) look(ctx context.Context, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) error {
	next := *release.Status.Revert.DeepCopy()
	pull, err := r.read(ctx, source, next.PullRequest.Number)
	if err != nil {
		return err
	}
	next.State, next.Message = v1alpha1.RevertOpen, report.RevertOpened(pull.Number)
	if pull.Rejected() {
		next.State, next.Message = v1alpha1.RevertDeclined, report.RevertDeclined(pull.Number)
	}
	_, err = r.write(ctx, release, next, false)
	return err
}

func (r *Reverts) read(ctx context.Context, source *v1alpha1.ReleaseSource, number int64) (forge.PullRequest, error) {
	var pull forge.PullRequest
	err := r.forges.ask(ctx, source, false, func(ctx context.Context, api *github.Client) error {
		var err error
		pull, err = api.PullRequest(ctx, int(number))
		return err
	})
	return pull, err
}

// finish closes what is open for a rollback that Git has followed, or that is over in another way,
// and removes the branch.
func (r *Reverts) finish(ctx context.Context, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) error {
	next := *release.Status.Revert.DeepCopy()
	err := r.forges.ask(ctx, source, false, func(ctx context.Context, api *github.Client) error {
		pull, found, err := r.findPull(ctx, api, release, source)
		if err != nil {
			return err
		}
		next.State, next.Message = v1alpha1.RevertClosed, report.RevertClosed(release)
		switch {
		case found && pull.Merged:
			next.State, next.Message = v1alpha1.RevertMerged, report.RevertMerged(pull.Number)
		case found && pull.State == forge.PullOpen:
			if err := api.CloseApproval(ctx, pull.Number, report.RevertClosed(release)); err != nil {
				return err
			}
		}
		return api.DeleteBranch(ctx, branchOf(release, &next))
	})
	if err != nil {
		return err
	}
	_, err = r.write(ctx, release, next, false)
	return err
}

// findPull finds the pull request that was, or was about to be, opened.
func (r *Reverts) findPull(ctx context.Context, api *github.Client, release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) (forge.PullRequest, bool, error) {
	revert := release.Status.Revert
	if revert.PullRequest == nil {
		return api.FindChange(ctx, forge.ChangeRequest{
			Branch: branchOf(release, revert), Base: source.Branch(), Path: revert.File, ByBranch: true,
		})
	}
	pull, err := api.PullRequest(ctx, int(revert.PullRequest.Number))
	if forge.KindOf(err) == forge.NotFound {
		return pull, false, nil
	}
	return pull, err == nil, err
}

// newBranch names a branch for a revert, which nobody can make before us.
func newBranch(release *v1alpha1.BatchRelease, revert *v1alpha1.Revert) string {
	const random = 12
	return branchOf(release, revert) + "-" + strings.ToLower(rand.Text()[:random])
}

// branchOf is the branch of a revert. The attempt tells two rollbacks of one revision apart. What an earlier version
// began has a name that follows from these.
func branchOf(release *v1alpha1.BatchRelease, revert *v1alpha1.Revert) string {
	if revert.Branch != "" {
		return revert.Branch
	}
	return fmt.Sprintf("%s%s/%s/revert-%s-%d", forge.BranchPrefix, release.Namespace, release.Name, revert.From, revert.Attempt)
}

// write keeps what is new, and reports false if the release is not what it was: the watch brings what it is.
func (r *Reverts) write(ctx context.Context, release *v1alpha1.BatchRelease, next v1alpha1.Revert, guarded bool) (bool, error) {
	before := release.DeepCopy()
	if equality.Semantic.DeepEqual(before.Status.Revert, &next) {
		return true, nil
	}
	patch := client.MergeFrom(before)
	if guarded {
		patch = client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	}
	release.Status.Revert = &next
	err := r.client.Status().Patch(ctx, release, patch)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		before.DeepCopyInto(release)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("write revert of release: %w", err)
	}
	r.own.keep(release)
	r.announce(release, before.Status.Revert)
	return true, nil
}

// announce makes the event of a state that people should know of.
func (r *Reverts) announce(release *v1alpha1.BatchRelease, before *v1alpha1.Revert) {
	now := release.Status.Revert
	if now.Message == "" || before != nil && before.State == now.State && before.Message == now.Message {
		return
	}
	kind := corev1.EventTypeNormal
	if now.State == v1alpha1.RevertRefused || now.State == v1alpha1.RevertOpening {
		kind = corev1.EventTypeWarning
	}
	r.events.Eventf(release, nil, kind, "Revert"+string(now.State), "Revert", "%s", now.Message)
}
