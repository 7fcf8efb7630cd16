package rollout

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/order"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list

// podWrites is how many pods are written to at once.
const podWrites = 8

// readPods lists the pods of the ReplicaSets, and the labels of their nodes if the order needs
// them. Only releases with an order or pause points ask for it.
func (r *podReader) readPods(ctx context.Context, v *view) error {
	selector, err := r.selector(ctx, v)
	if err != nil {
		return err
	}
	var list corev1.PodList
	if err := r.live.List(ctx, &list, client.InNamespace(v.release.Namespace), selector); err != nil {
		return fmt.Errorf("read pods: %w", err)
	}
	labels, err := r.nodeLabels(ctx, v.release)
	if err != nil {
		return err
	}
	v.facts.Pods = nil
	for i := range list.Items {
		pod := &list.Items[i]
		if owner := metav1.GetControllerOf(pod); owner != nil && v.parts().owns(v, pod) && active(pod) {
			v.facts.Pods = append(v.facts.Pods, orderedPod(pod, owner.UID, labels))
		}
	}
	return nil
}

// nodeLabels returns the labels of all nodes by name; none if the order does not go by them.
func (r *podReader) nodeLabels(ctx context.Context, release *v1alpha1.BatchRelease) (map[string]map[string]string, error) {
	needed := false
	for _, key := range release.Spec.Strategy.Order {
		needed = needed || key.NodeLabel != nil
	}
	if !needed {
		return nil, nil
	}
	nodes := &metav1.PartialObjectMetadataList{}
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := r.live.List(ctx, nodes); err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	labels := make(map[string]map[string]string, len(nodes.Items))
	for i := range nodes.Items {
		labels[nodes.Items[i].Name] = nodes.Items[i].Labels
	}
	return labels, nil
}

// active reports whether a pod counts for its ReplicaSet (IsPodActive of Kubernetes).
func active(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded
}

func orderedPod(pod *corev1.Pod, set types.UID, labels map[string]map[string]string) order.Pod {
	return order.Pod{
		Name:       pod.Name,
		UID:        pod.UID,
		Set:        set,
		Node:       pod.Spec.NodeName,
		NodeLabels: labels[pod.Spec.NodeName],
		Stage:      stageOf(pod),
		Created:    pod.CreationTimestamp.Time,
		Priority:   pod.Annotations[v1alpha1.DeletePriorityAnnotation],
		Cost:       pod.Annotations[corev1.PodDeletionCost],
		Mark:       decodeMark(pod),
		Pause:      pod.Annotations[v1alpha1.PausePointAnnotation] == "true",
	}
}

// stageOf returns what ActivePodsWithRanks of Kubernetes sorts by before the deletion cost.
func stageOf(pod *corev1.Pod) order.Stage {
	ready := podCondition(pod, corev1.PodReady)
	switch {
	case pod.Spec.NodeName == "":
		return order.Unassigned
	case pod.Status.Phase == corev1.PodPending:
		return order.Pending
	case pod.Status.Phase == corev1.PodUnknown:
		return order.Unknown
	case ready == nil || ready.Status != corev1.ConditionTrue:
		return order.NotReady
	default:
		return order.Ready
	}
}

// decodeMark reads our annotation; one that can't be read is not ours.
func decodeMark(pod *corev1.Pod) *order.Mark {
	text, found := pod.Annotations[v1alpha1.OrderAnnotation]
	if !found {
		return nil
	}
	var mark order.Mark
	if err := json.Unmarshal([]byte(text), &mark); err != nil {
		return nil
	}
	return &mark
}

// orderPods writes costs to pods. A pod that is gone by now needs none.
func (r *podWriter) orderPods(ctx context.Context, v *view, a deployment.OrderPods) error {
	v.facts.Live &^= plan.ReadPods
	var writes errgroup.Group
	writes.SetLimit(podWrites)
	for _, change := range a.Changes {
		writes.Go(func() error { return r.writeCost(ctx, v.release.Namespace, change) })
	}
	if err := writes.Wait(); err != nil {
		return err
	}
	sawCosts(v, a.Changes)
	return nil
}

// sawCosts takes over what was written to pods.
func sawCosts(v *view, changes []order.Change) {
	written := map[types.UID]order.Change{}
	for _, change := range changes {
		written[change.Pod.UID] = change
	}
	for i := range v.facts.Pods {
		if change, found := written[v.facts.Pods[i].UID]; found {
			v.facts.Pods[i].Cost, v.facts.Pods[i].Mark = change.Text(), change.Mark
		}
	}
	v.facts.Live |= plan.ReadPods
}

// writeCost patches one pod, if it is the one that it was decided on.
func (r *podWriter) writeCost(ctx context.Context, namespace string, change order.Change) error {
	annotations := map[string]any{corev1.PodDeletionCost: nil, v1alpha1.OrderAnnotation: nil}
	if text := change.Text(); text != "" {
		annotations[corev1.PodDeletionCost] = text
	}
	if change.Mark != nil {
		mark, err := json.Marshal(change.Mark)
		if err != nil {
			return fmt.Errorf("encode mark: %w", err)
		}
		annotations[v1alpha1.OrderAnnotation] = string(mark)
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": change.Pod.UID, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: change.Pod.Name}}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	outcome := kube.OutcomeOf(r.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, data)))
	switch outcome.(type) {
	case kube.Outdated, kube.Refused, kube.Failed:
		return fmt.Errorf("patch pod %s: %w", change.Pod.Name, kube.Err(outcome))
	case kube.Written, kube.Unchanged, kube.Gone:
	}
	return nil
}
