package handback

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// findTemplate looks for the template of a revision: among those that were kept for the release, or
// where the native controller has it. It is nil if there is none.
func (c *Command) findTemplate(ctx context.Context, w workload.Workload, revision string) (json.RawMessage, error) {
	held := hold.Of(w)
	kept, err := c.keptTemplate(ctx, w.GetNamespace(), held.Release, held.UID, revision)
	if err != nil || kept != nil {
		return kept, err
	}
	name := w.RevisionName(revision)
	if name == "" {
		return c.templateOfSet(ctx, w, revision)
	}
	recorded, err := kube.Recorded(ctx, c.client, w, name)
	if err != nil || recorded == nil {
		return nil, err
	}
	return podtemplate.OfHistory(recorded.Data.Raw)
}

// keptTemplate returns a template that was kept for a release; nil if there is none.
func (c *Command) keptTemplate(ctx context.Context, namespace, release string, uid types.UID, revision string) (json.RawMessage, error) {
	var list appsv1.ControllerRevisionList
	labels := client.MatchingLabels{v1alpha1.ReleaseLabel: release, v1alpha1.RevisionLabel: revision}
	if err := c.client.List(ctx, &list, client.InNamespace(namespace), labels); err != nil {
		return nil, fmt.Errorf("list ControllerRevisions: %w", err)
	}
	for i := range list.Items {
		if uid != "" && v1alpha1.KeptFor(&list.Items[i]) == uid {
			return list.Items[i].Data.Raw, nil
		}
	}
	return nil, nil
}

// templateOfSet returns the template of a ReplicaSet that belongs to a Deployment.
func (c *Command) templateOfSet(ctx context.Context, w workload.Workload, revision string) (json.RawMessage, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	labels := client.MatchingLabels{appsv1.DefaultDeploymentUniqueLabelKey: revision}
	if err := c.client.List(ctx, list, client.InNamespace(w.GetNamespace()), labels); err != nil {
		return nil, fmt.Errorf("list ReplicaSets: %w", err)
	}
	for i := range list.Items {
		if set := &list.Items[i]; metav1.IsControlledBy(set, w) {
			return hold.TemplateOfSet(set)
		}
	}
	return nil, nil
}
