package v1alpha1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodTrouble says why pods of the update revision don't become available. It changes nothing that the release does: the
// progress deadline goes on.
type PodTrouble struct {
	// Reason is what most of the pods in trouble have in common.
	Reason PodTroubleReason `json:"reason"`
	// Revision is the revision that the pods run.
	Revision string `json:"revision"`
	// Pods is the highest number of pods that were seen with it.
	// +kubebuilder:validation:Minimum=1
	Pods int32 `json:"pods"`
	// Message says it more exactly, for people.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Message string `json:"message,omitempty"`
	// Since is when it was first seen.
	Since metav1.Time `json:"since"`
}

// PodTroubleReason is why a pod does not become available.
//
// +kubebuilder:validation:Enum=CrashLoop;ImagePull;Unschedulable;CannotStart
type PodTroubleReason string

// The reasons why pods don't become available.
const (
	// PodsCrash: a container ended, and is started again and again.
	PodsCrash PodTroubleReason = "CrashLoop"
	// PodsLackImage: an image can't be pulled.
	PodsLackImage PodTroubleReason = "ImagePull"
	// PodsUnschedulable: no node has room for the pod.
	PodsUnschedulable PodTroubleReason = "Unschedulable"
	// PodsCannotStart: a container can't be created or started, for example because a ConfigMap is missing.
	PodsCannotStart PodTroubleReason = "CannotStart"
)

// Words say it to people. Of is how many pods there are to be.
func (t *PodTrouble) Words(of int32) string {
	of = max(of, t.Pods)
	noun, verb := "pods", t.Reason.words()
	if of == 1 {
		noun = "pod"
	}
	if t.Pods == 1 && t.Reason == PodsCrash {
		verb = "crashes"
	}
	words := fmt.Sprintf("%d of %d %s %s", t.Pods, of, noun, verb)
	if t.Message == "" {
		return words
	}
	return words + ": " + t.Message
}

// words say what the pods do.
func (r PodTroubleReason) words() string {
	switch r {
	case PodsCrash:
		return "crash"
	case PodsLackImage:
		return "can't pull the image"
	case PodsUnschedulable:
		return "can't be scheduled"
	case PodsCannotStart:
		return "can't start"
	default:
		return "can't become available"
	}
}
