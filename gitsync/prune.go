package gitsync

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// prune deletes the releases that were taken out of the repository, if the source asks for
// it. It returns why it did not.
func (a *application) prune(ctx context.Context) string {
	if !a.source.Spec.Prune {
		return ""
	}
	existing, err := a.ofSource(ctx)
	if err != nil {
		a.failed = append(a.failed, err)
		return ""
	}
	surplus := a.surplus(existing)
	if len(surplus) == 0 {
		return ""
	}
	if len(surplus) == len(existing) {
		return fmt.Sprintf("none of the %d releases is in the repository any more: an empty folder never prunes everything; "+
			"delete them by hand if it is meant", len(existing))
	}
	for _, release := range surplus {
		precondition := client.Preconditions{UID: &release.UID}
		if err := a.writer.Delete(ctx, release, precondition); client.IgnoreNotFound(err) != nil {
			a.failed = append(a.failed, fmt.Errorf("delete BatchRelease %s: %w", client.ObjectKeyFromObject(release), err))
			continue
		}
		a.changed++
	}
	return ""
}

// ofSource are the releases that came from the source.
func (a *application) ofSource(ctx context.Context) ([]*v1alpha1.BatchRelease, error) {
	var found []*v1alpha1.BatchRelease
	for _, namespace := range append([]string{a.source.Namespace}, a.options.AllowedNamespaces...) {
		var list v1alpha1.BatchReleaseList
		err := a.client.List(ctx, &list, client.InNamespace(namespace),
			client.MatchingLabels{v1alpha1.SourceLabel: a.source.Name})
		if err != nil {
			return nil, fmt.Errorf("list BatchReleases of the source: %w", err)
		}
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil {
				found = append(found, &list.Items[i])
			}
		}
	}
	return found, nil
}

// surplus are those that the repository does not hold. A release whose file is at fault is
// not known to be gone.
func (a *application) surplus(existing []*v1alpha1.BatchRelease) []*v1alpha1.BatchRelease {
	wanted, broken := map[types.NamespacedName]bool{}, map[string]bool{}
	for _, release := range a.memory.result.Releases {
		wanted[types.NamespacedName{Namespace: release.Namespace, Name: release.Name}] = true
	}
	for _, problem := range a.memory.result.Errors {
		broken[problem.File] = true
	}
	var surplus []*v1alpha1.BatchRelease
	for _, release := range existing {
		if !wanted[client.ObjectKeyFromObject(release)] && !broken[release.Annotations[v1alpha1.FileAnnotation]] {
			surplus = append(surplus, release)
		}
	}
	return surplus
}
