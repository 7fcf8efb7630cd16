package approvals

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
)

// keepNames records the accounts of new policy names on the source, before any decision by them.
// It fails if the source has changed since the gate was judged, so that the gate is judged again.
func (r *ForgeGates) keepNames(ctx context.Context, source *v1alpha1.ReleaseSource, added []v1alpha1.NamedAccount) error {
	wanted := source.DeepCopy()
	wanted.Status.Accounts = append(wanted.Status.Accounts, added...)
	if err := kube.Err(kube.PatchStatus(ctx, r.gates.client, source, wanted)); err != nil {
		return fmt.Errorf("write down whom policies name: %w", err)
	}
	return nil
}

// unmet returns the accounts of policy names that the source does not know yet.
func unmet(source *v1alpha1.ReleaseSource, named []v1alpha1.NamedAccount) []v1alpha1.NamedAccount {
	if source == nil {
		return nil
	}
	var added []v1alpha1.NamedAccount
	for _, one := range named {
		same := func(a v1alpha1.NamedAccount) bool { return a.Kind == one.Kind && a.Name == one.Name }
		if !slices.ContainsFunc(source.Status.Accounts, same) && !slices.ContainsFunc(added, same) {
			added = append(added, one)
		}
	}
	return added
}
