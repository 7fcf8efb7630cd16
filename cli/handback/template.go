package handback

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
)

// findTemplate looks for the template of a revision: among those that were kept for the release, or
// with the Deployment's ReplicaSets. It is nil if there is none.
func (c *Command) findTemplate(ctx context.Context, d *appsv1.Deployment, sets []appsv1.ReplicaSet, revision string) (json.RawMessage, error) {
	kept, err := c.keptTemplate(ctx, d, revision)
	if err != nil || kept != nil {
		return kept, err
	}
	for i := range sets {
		if metav1.IsControlledBy(&sets[i], d) && sets[i].Labels[appsv1.DefaultDeploymentUniqueLabelKey] == revision {
			return hold.Template(&sets[i]), nil
		}
	}
	return nil, nil
}

func (c *Command) keptTemplate(ctx context.Context, d *appsv1.Deployment, revision string) (json.RawMessage, error) {
	held := hold.Of(d)
	var list appsv1.ControllerRevisionList
	labels := client.MatchingLabels{v1alpha1.ReleaseLabel: held.Release, v1alpha1.RevisionLabel: revision}
	if err := c.client.List(ctx, &list, client.InNamespace(d.Namespace), labels); err != nil {
		return nil, fmt.Errorf("list ControllerRevisions: %w", err)
	}
	for i := range list.Items {
		if held.UID != "" && v1alpha1.KeptFor(&list.Items[i]) == held.UID {
			return list.Items[i].Data.Raw, nil
		}
	}
	return nil, nil
}
