package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/approvals/revert"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// impossibleError holds why no pull request can put the template back.
type impossibleError struct{ reason string }

func (e *impossibleError) Error() string { return e.reason }

func impossible(format string, args ...any) error {
	return &impossibleError{fmt.Sprintf(format, args...)}
}

// errAhead reports that the tracked branch has a newer template, which gitsync has not applied yet.
var errAhead = errors.New("the branch is ahead of the release")

// proposal returns the change that puts the template back, by the file as it is and as it was.
func (r *reverting) proposal(ctx context.Context) (lifecycle.Proposal, error) {
	if len(r.on.object.Spec.Members) > 0 {
		return lifecycle.Impossible{Reason: "the run changes the templates of several releases"}, nil
	}
	request := forge.ChangeRequest{}
	kept, err := r.kept(ctx, r.on.object)
	if err == nil {
		err = r.forges.ask(ctx, r.source, false, func(ctx context.Context, api forge.Client) error {
			var err error
			request, err = proposed{api, r.on.object, r.source}.change(ctx, kept)
			return err
		})
	}
	problem, is := errors.AsType[*impossibleError](err)
	switch {
	case errors.Is(err, errAhead):
		return lifecycle.Ahead{}, nil
	case is:
		return lifecycle.Impossible{Reason: problem.reason}, nil
	case err != nil:
		return nil, err
	}
	return lifecycle.Change{Request: request}, nil
}

// kept returns the template to put back, as the cluster holds it.
func (r *Reverts) kept(ctx context.Context, release *v1alpha1.BatchRelease) (*appsv1.ControllerRevision, error) {
	to := release.Status.RolledBackTo()
	if built := release.Annotations[v1alpha1.KustomizationAnnotation]; built != "" {
		return nil, impossible("its template is built by %s", built)
	}
	if config := release.Spec.Config; len(config) > 0 {
		return nil, impossible("its pods have copies of %s, which a pull request that changes one file does not bring back: use git revert", namesOf(config))
	}
	var named appsv1.ControllerRevisionList
	labels := client.MatchingLabels{v1alpha1.ReleaseLabel: release.Name, v1alpha1.RevisionLabel: to}
	if err := r.releases.live.List(ctx, &named, client.InNamespace(release.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list ControllerRevisions: %w", err)
	}
	i := slices.IndexFunc(named.Items, func(kept appsv1.ControllerRevision) bool { return v1alpha1.KeptFor(&kept) == release.UID })
	switch {
	case len(named.Items) == 0:
		return nil, impossible("revision %s is no longer kept", to)
	case i < 0:
		return nil, impossible("revision %s is not kept for this release", to)
	case named.Items[i].Annotations[v1alpha1.CommitAnnotation] != "":
		return &named.Items[i], nil
	}
	return r.alike(ctx, release, &named.Items[i])
}

// namesOf names what a release has in spec.config.
func namesOf(config []v1alpha1.ConfigReference) string {
	var names []string
	for _, entry := range config {
		if entry.Secret != "" {
			names = append(names, "Secret "+entry.Secret)
		} else {
			names = append(names, "ConfigMap "+entry.ConfigMap)
		}
	}
	return strings.Join(names, ", ")
}

// alike returns an equal template that was kept with its commit. The control plane may hash a
// template differently, and then both hashes name a copy.
func (r *Reverts) alike(ctx context.Context, release *v1alpha1.BatchRelease, kept *appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	var all appsv1.ControllerRevisionList
	err := r.releases.live.List(ctx, &all, client.InNamespace(release.Namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: release.Name})
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
	return nil, impossible("no commit is known that brought revision %s", release.Status.RolledBackTo())
}

// proposed builds the change for a release.
type proposed struct {
	api     forge.Client
	release *v1alpha1.BatchRelease
	source  *v1alpha1.ReleaseSource
}

// change returns the change of the file at the tip of the tracked branch.
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
		return forge.ChangeRequest{}, impossible("the template in it at commit %s is not that of revision %s", plain.Commit(then), status.RolledBackTo())
	}
	changed, err := now.With(before)
	if err != nil {
		return forge.ChangeRequest{}, impossible("%v", err)
	}
	words := report.RevertWords{Release: p.release, Commit: then, File: status.Revert.File, Before: text, After: changed}
	return forge.ChangeRequest{
		Branch: lifecycle.BranchOfRevert(p.release), Base: p.source.Branch(), Path: status.Revert.File, Content: changed, ByBranch: true,
		Tip: tip.Commit, Tree: tip.Tree, Message: words.CommitMessage(), Title: words.Title(), Body: words.Body(),
	}, nil
}

// read returns the file with the template at a commit, and its text.
func (p proposed) read(ctx context.Context, commit string) (*revert.File, []byte, error) {
	text, err := p.api.ReadFile(ctx, p.release.Status.Revert.File, commit)
	if kind := forge.KindOf(err); kind == forge.NotFound || kind == forge.Invalid {
		return nil, nil, impossible("it can't be read at commit %s: %v", plain.Commit(commit), err)
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := revert.Read(text, revert.Release{
		Namespace: p.release.Namespace, Name: p.release.Name, Default: p.source.Namespace,
		Kind: p.release.Spec.WorkloadRef.Kind, Workload: p.release.Spec.WorkloadRef.Name,
	})
	if err != nil {
		return nil, nil, impossible("at commit %s %v", plain.Commit(commit), err)
	}
	return file, text, nil
}
