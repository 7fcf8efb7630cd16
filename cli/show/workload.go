package show

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// kindOf returns the kind of a workload; empty if it can't be released.
func kindOf(object Object) string {
	if kind := kinds.Of(object); kind != nil {
		return kind.Name
	}
	return ""
}

// isSame reports whether a reference is to a workload, which may be nil.
func isSame(ref *corev1.ObjectReference, object Object) bool {
	return object != nil && ref.Kind == kindOf(object) && ref.UID == object.GetUID()
}

// podTemplateOf returns the template of a workload; nil if there is none.
func podTemplateOf(object Object) *corev1.PodTemplateSpec {
	if kind := kinds.Of(object); kind != nil {
		return kind.Template(object)
	}
	return nil
}

// MinReadySeconds returns how long a pod of a workload is ready before it counts as available.
func MinReadySeconds(object Object) int32 {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return o.Spec.MinReadySeconds
	case *appsv1.StatefulSet:
		return o.Spec.MinReadySeconds
	case *appsv1.DaemonSet:
		return o.Spec.MinReadySeconds
	default:
		return 0
	}
}

func workloadNode(w *Whole) Node {
	ref := w.Release.Spec.WorkloadRef
	node := Node{Name: strings.ToLower(ref.Kind) + "/" + ref.Name}
	if w.Workload == nil {
		node.State, node.Text = Bad, "not found"
		return node
	}
	node.Text = counts(w.Workload)
	if OutcomeOf(w.Release) == Completed { // that all pods run the version does not say that they serve
		node.State = servingState(availability(w.Workload))
	}
	if w.Workload.GetAnnotations()[v1alpha1.HoldAnnotation] != "" {
		node.Text += ", held by Sluice"
	}
	return node
}

// servingState returns how well a workload is at rest; plain if there is nothing to say.
func servingState(available, wanted int32) State {
	switch {
	case available >= wanted:
		return Plain
	case available == 0:
		return Bad
	default:
		return Moving
	}
}

// availability returns how many pods of a workload are available, of how many.
func availability(object Object) (available, wanted int32) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return o.Status.AvailableReplicas, replicasOf(o.Spec.Replicas)
	case *appsv1.StatefulSet:
		return o.Status.AvailableReplicas, replicasOf(o.Spec.Replicas)
	case *appsv1.DaemonSet:
		return o.Status.NumberAvailable, o.Status.DesiredNumberScheduled
	default:
		return 0, 0
	}
}

// counts returns what the status of a workload says of its pods, as people know it from its kind.
func counts(object Object) string {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return availableOf(availability(o))
	case *appsv1.StatefulSet:
		s := &o.Status
		text := availableOf(availability(o)) + fmt.Sprintf(", %d ready", s.ReadyReplicas)
		switch s.UpdateRevision {
		case "":
			return text
		case s.CurrentRevision:
			return text + ", revision " + hashOf(s.UpdateRevision)
		}
		return text + fmt.Sprintf(", %d updated to %s, %d current of %s",
			s.UpdatedReplicas, hashOf(s.UpdateRevision), s.CurrentReplicas, hashOf(s.CurrentRevision))
	case *appsv1.DaemonSet:
		s := &o.Status
		text := availableOf(availability(o)) + fmt.Sprintf(", %d current, %d ready, %d updated",
			s.CurrentNumberScheduled, s.NumberReady, s.UpdatedNumberScheduled)
		if s.NumberMisscheduled > 0 {
			text += fmt.Sprintf(", %d misscheduled", s.NumberMisscheduled)
		}
		return text
	default:
		return ""
	}
}

func availableOf(available, wanted int32) string {
	return fmt.Sprintf("%d of %s available", available, pods(wanted))
}

// hashOf returns the hash at the end of a ControllerRevision's name, or of the label of a pod. The
// hash has no dash.
func hashOf(name string) string { return name[strings.LastIndex(name, "-")+1:] }

// podsByHash returns the pods of a StatefulSet or DaemonSet by the hash of their version.
func podsByHash(w *Whole) map[string][]corev1.Pod {
	byHash := map[string][]corev1.Pod{}
	for _, pod := range w.Pods {
		if metav1.IsControlledBy(&pod, w.Workload) {
			hash := hashOf(pod.Labels[appsv1.ControllerRevisionHashLabelKey])
			byHash[hash] = append(byHash[hash], pod)
		}
	}
	return byHash
}

// newestOf returns the name of the ControllerRevision of the template that the workload has, as far
// as its controller has seen it: that with the highest number.
func newestOf(records []appsv1.ControllerRevision) string {
	newest, number := "", int64(-1)
	for i := range records {
		if records[i].Revision > number {
			newest, number = records[i].Name, records[i].Revision
		}
	}
	return newest
}

// recordImages returns those of the template that the native controller keeps in a
// ControllerRevision.
func recordImages(record *appsv1.ControllerRevision) string {
	template, err := podtemplate.OfHistory(record.Data.Raw)
	if err != nil || template == nil {
		return "" // nobody but the native controller writes one; what it wrote can be read
	}
	return ImagesOf(template)
}
