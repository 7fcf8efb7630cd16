package approvals

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/internal/kinds"
)

// batchOf returns what people see of the pods that a gate's step has updated. Pods are not cached:
// approvals reads them when it asks somebody.
func (c cluster) batchOf(ctx context.Context, g *v1alpha1.Gate, release *v1alpha1.BatchRelease) (report.Batch, error) {
	if len(release.Spec.Members) > 0 {
		return c.membersOf(ctx, release)
	}
	var pods corev1.PodList
	workload := release.Spec.WorkloadRef
	kind := kinds.Named(workload.Kind)
	if kind == nil {
		return report.Batch{}, fmt.Errorf("kind %q can't be released", workload.Kind)
	}
	of := kind.Pods(workload.Name, g.Spec.Revision)
	if err := c.live.List(ctx, &pods, client.InNamespace(g.Namespace), client.MatchingLabels(of.Labels)); err != nil {
		return report.Batch{}, fmt.Errorf("list pods of revision %s: %w", g.Spec.Revision, err)
	}
	status := release.Status
	batch := report.Batch{
		Replicas: status.Replicas, Updated: status.UpdatedReplicas,
		Ready: status.UpdatedReadyReplicas, Available: status.UpdatedAvailableReplicas,
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == of.OwnerKind && owner.Name == of.Owner && pod.DeletionTimestamp == nil {
			batch.Pods = append(batch.Pods, podOf(pod))
		}
	}
	return batch, nil
}

func podOf(pod *corev1.Pod) report.Pod {
	seen := report.Pod{Name: pod.Name, Message: pod.Status.Message}
	for _, container := range pod.Spec.Containers {
		seen.Images = append(seen.Images, container.Image)
	}
	for i := range pod.Status.ContainerStatuses {
		container := &pod.Status.ContainerStatuses[i]
		seen.Restarts += container.RestartCount
		if waiting := container.State.Waiting; waiting != nil && seen.Message == "" {
			seen.Message = waiting.Reason
		}
	}
	seen.Ready = slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return seen
}
