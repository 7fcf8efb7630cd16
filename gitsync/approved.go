package gitsync

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
)

// observeApproved reads the templates with which missing workloads may be created. It reads their
// releases live: a cache may not know yet which version has passed its gates.
func (o observer) observeApproved(ctx context.Context, desired plan.Desired, _ *memory, seen *plan.Observed) error {
	for _, release := range desired.Content.Releases {
		key := plan.KeyOf(release)
		if seen.Releases[key] == nil || !release.HasWorkload() || seen.Workloads[plan.WorkloadOf(release)] {
			continue
		}
		live := &v1alpha1.BatchRelease{}
		err := o.live.Get(ctx, key, live)
		if apierrors.IsNotFound(err) {
			delete(seen.Releases, key)
			continue
		}
		if err != nil {
			return fmt.Errorf("read BatchRelease %s: %w", key, err)
		}
		live.ManagedFields, seen.Releases[key] = nil, live
		if seen.Approved[key], err = o.kept(ctx, live, plan.Approved(live)); err != nil {
			return err
		}
	}
	return nil
}

// kept reads the template of a revision from a release's history; nil if the history lacks it, or
// the revision was rolled back.
func (o observer) kept(ctx context.Context, release *v1alpha1.BatchRelease, revision string) (json.RawMessage, error) {
	if revision == "" {
		return nil, nil
	}
	var list appsv1.ControllerRevisionList
	named := client.MatchingLabels{v1alpha1.ReleaseLabel: release.Name, v1alpha1.RevisionLabel: revision}
	if err := o.live.List(ctx, &list, client.InNamespace(release.Namespace), named); err != nil {
		return nil, fmt.Errorf("read the history of BatchRelease %s/%s: %w", release.Namespace, release.Name, err)
	}
	for i := range list.Items {
		kept := &list.Items[i]
		outcome := v1alpha1.Outcome(kept.Annotations[v1alpha1.OutcomeAnnotation])
		if v1alpha1.KeptFor(kept) == release.UID && outcome != v1alpha1.OutcomeRolledBack {
			return kept.Data.Raw, nil
		}
	}
	return nil, nil
}
