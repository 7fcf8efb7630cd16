package handback

import (
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// unfollow gives a followed workload back that no release holds. Where a template waits for its
// release, the workload gets the stable one, unless the release, or who runs the command, says
// otherwise.
func (c *Command) unfollow(ctx context.Context, t target, w workload.Workload) error {
	release := &v1alpha1.BatchRelease{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: w.GetNamespace(), Name: hold.Follower(w)}, release); err != nil && !absent(err) {
		return fmt.Errorf("read BatchRelease: %w", err)
	}
	var template json.RawMessage
	words := "with the template that it has"
	_, waits := w.GetAnnotations()[v1alpha1.WaitingAnnotation]
	stable := release.Annotations[v1alpha1.CurrentStableAnnotation]
	if waits && stable != "" && !c.options.Proceed && release.Spec.DeletionPolicy != v1alpha1.DeletionProceed {
		kept, err := c.keptTemplate(ctx, w.GetNamespace(), release.Name, release.UID, stable)
		if err != nil {
			return err
		}
		if kept != nil {
			template, words = kept, "back to the stable revision "+stable
		}
	}
	own := w.Own()
	if err := c.write(ctx, w, own, template); err != nil {
		return err
	}
	done := "no longer followed"
	if c.options.DryRun {
		done = "would no longer be followed"
	}
	c.tell(fmt.Sprintf("%s: %s: %s, %s", t, done, w.Describe(own), words))
	if release.UID != "" && release.DeletionTimestamp == nil {
		c.tell(fmt.Sprintf("%s: a controller that starts follows the %s again, unless BatchRelease %s is deleted first", t, t.kind, release.Name))
	}
	return nil
}
