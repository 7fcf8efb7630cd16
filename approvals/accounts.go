package approvals

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// keepNames writes down whom the names in a policy mean, of names that were not met before: before anything is decided by
// them, and on the source as it is now. A gate that opens is judged on a live read of the source, which has them.
func (r *ForgeGates) keepNames(ctx context.Context, g *v1alpha1.Gate, source *v1alpha1.ReleaseSource, known *gate.ForgeFacts) error {
	named := gate.Named(g, known)
	if len(unmet(source, named)) == 0 {
		return nil
	}
	live := &v1alpha1.ReleaseSource{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(source), live); err != nil {
		return fmt.Errorf("read ReleaseSource: %w", err)
	}
	added := unmet(live, named)
	if len(added) == 0 {
		return nil
	}
	before := live.DeepCopy()
	live.Status.Accounts = append(live.Status.Accounts, added...)
	guard := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, live, guard); err != nil {
		return fmt.Errorf("write down whom policies name: %w", err)
	}
	return nil
}

// unmet are those of the names that a source does not have yet.
func unmet(source *v1alpha1.ReleaseSource, named []v1alpha1.NamedAccount) []v1alpha1.NamedAccount {
	var added []v1alpha1.NamedAccount
	for _, one := range named {
		same := func(a v1alpha1.NamedAccount) bool { return a.Kind == one.Kind && a.Name == one.Name }
		if !slices.ContainsFunc(source.Status.Accounts, same) && !slices.ContainsFunc(added, same) {
			added = append(added, one)
		}
	}
	return added
}
