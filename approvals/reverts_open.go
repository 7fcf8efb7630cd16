package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/approvals/revert"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// refusedError says why there is no pull request, whenever it is tried.
type refusedError struct{ reason string }

func (e *refusedError) Error() string { return e.reason }

func refuse(format string, args ...any) error { return &refusedError{fmt.Sprintf(format, args...)} }

// errAhead says that the tracked branch has another template by now, which gitsync has not brought
// yet.
var errAhead = errors.New("the branch is ahead of the release")

// proposal returns what the pull request is to be, made from what the forge has of the file now and
// then.
func (r *reverting) proposal(ctx context.Context) (lifecycle.Proposal, error) {
	request := forge.ChangeRequest{}
	kept, err := r.kept(ctx, r.release)
	if err == nil {
		err = r.forges.ask(ctx, r.source, false, func(ctx context.Context, api *github.Client) error {
			var err error
			request, err = proposed{api, r.release, r.source}.change(ctx, kept)
			return err
		})
	}
	refused, isRefused := errors.AsType[*refusedError](err)
	switch {
	case errors.Is(err, errAhead):
		return lifecycle.Ahead{}, nil
	case isRefused:
		return lifecycle.Refusal{Reason: refused.reason}, nil
	case err != nil:
		return nil, err
	}
	return lifecycle.Change{Request: request}, nil
}

// kept returns the template that is put back, as the cluster has it.
func (r *Reverts) kept(ctx context.Context, release *v1alpha1.BatchRelease) (*appsv1.ControllerRevision, error) {
	to := release.Status.RolledBackTo()
	if built := release.Annotations[v1alpha1.KustomizationAnnotation]; built != "" {
		return nil, refuse("its template is built by %s", built)
	}
	var named appsv1.ControllerRevisionList
	labels := client.MatchingLabels{v1alpha1.ReleaseLabel: release.Name, v1alpha1.RevisionLabel: to}
	if err := r.live.List(ctx, &named, client.InNamespace(release.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list ControllerRevisions: %w", err)
	}
	i := slices.IndexFunc(named.Items, func(kept appsv1.ControllerRevision) bool { return v1alpha1.KeptFor(&kept) == release.UID })
	switch {
	case len(named.Items) == 0:
		return nil, refuse("revision %s is no longer kept", to)
	case i < 0:
		return nil, refuse("revision %s is not kept for this release", to)
	case named.Items[i].Annotations[v1alpha1.CommitAnnotation] != "":
		return &named.Items[i], nil
	}
	return r.alike(ctx, release, &named.Items[i])
}

// alike returns the same template as another, kept with its commit. The control plane may give a
// template another hash than we do, and then it is kept under both.
func (r *Reverts) alike(ctx context.Context, release *v1alpha1.BatchRelease, kept *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	var all appsv1.ControllerRevisionList
	err := r.live.List(ctx, &all, client.InNamespace(release.Namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: release.Name})
	if err != nil {
		return nil, fmt.Errorf("list ControllerRevisions: %w", err)
	}
	for i := range all.Items {
		other := &all.Items[i]
		same := other.Annotations[v1alpha1.DigestAnnotation] == kept.Annotations[v1alpha1.DigestAnnotation]
		if same && v1alpha1.KeptFor(other) == release.UID && other.Annotations[v1alpha1.CommitAnnotation] != "" {
			return other, nil
		}
	}
	return nil, refuse("no commit is known that brought revision %s", release.Status.RolledBackTo())
}

// proposed is what Git is asked to change for a release.
type proposed struct {
	api     *github.Client
	release *v1alpha1.BatchRelease
	source  *v1alpha1.ReleaseSource
}

// change returns that of the file, as it is at the tip of the tracked branch.
func (p proposed) change(ctx context.Context, kept *appsv1.ControllerRevision) (forge.ChangeRequest, error) {
	status, then := &p.release.Status, kept.Annotations[v1alpha1.CommitAnnotation]
	tip, err := p.api.Tip(ctx, p.source.Branch())
	if err != nil {
		return forge.ChangeRequest{}, err
	}
	now, text, err := p.read(ctx, tip.Commit)
	if err != nil {
		return forge.ChangeRequest{}, err
	}
	if given, err := podtemplate.Given(now.Template()); err != nil || !slices.Contains(status.Quarantined, given) {
		return forge.ChangeRequest{}, errAhead
	}
	before, _, err := p.read(ctx, then)
	if err != nil {
		return forge.ChangeRequest{}, err
	}
	if !podtemplate.Within(before.Template(), kept.Data.Raw) {
		return forge.ChangeRequest{}, refuse("the template in it at commit %s is not that of revision %s", plain.Commit(then), status.RolledBackTo())
	}
	changed, err := now.With(before)
	if err != nil {
		return forge.ChangeRequest{}, refuse("%v", err)
	}
	words := report.RevertWords{Release: p.release, Commit: then, File: status.Revert.File, Before: text, After: changed}
	return forge.ChangeRequest{
		Branch: lifecycle.BranchOfRevert(p.release), Base: p.source.Branch(), Path: status.Revert.File, Content: changed, ByBranch: true,
		Tip: tip.Commit, Tree: tip.Tree, Message: words.CommitMessage(), Title: words.Title(), Body: words.Body(),
	}, nil
}

// read reads the file with the template as it was at a commit.
func (p proposed) read(ctx context.Context, commit string) (*revert.File, []byte, error) {
	text, err := p.api.ReadFile(ctx, p.release.Status.Revert.File, commit)
	if kind := forge.KindOf(err); kind == forge.NotFound || kind == forge.Invalid {
		return nil, nil, refuse("it can't be read at commit %s: %v", plain.Commit(commit), err)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := revert.Read(text, revert.Release{
		Namespace: p.release.Namespace, Name: p.release.Name, Default: p.source.Namespace,
		Kind: p.release.Spec.WorkloadRef.Kind, Workload: p.release.Spec.WorkloadRef.Name,
	})
	if err != nil {
		return nil, nil, refuse("at commit %s %v", plain.Commit(commit), err)
	}
	return file, text, nil
}
