package v1alpha1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodTrouble describes why pods of the update revision don't become available. It does not affect
// the release: the progress deadline keeps running.
type PodTrouble struct {
	// Reason is the problem that most of the affected pods share.
	Reason PodTroubleReason `json:"reason"`
	// Revision is the revision that the pods run.
	Revision string `json:"revision"`
	// Pods is the highest number of pods observed with this problem.
	// +kubebuilder:validation:Minimum=1
	Pods int32 `json:"pods"`
	// Message is a human readable message with more detail.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Message string `json:"message,omitempty"`
	// Since is the time at which the problem was first observed.
	Since metav1.Time `json:"since"`
}

// PodTroubleReason is the reason why a pod does not become available.
//
// +kubebuilder:validation:Enum=CrashLoop;ImagePull;Unschedulable;CannotStart
type PodTroubleReason string

// The reasons why pods don't become available.
const (
	// PodsCrash: a container exits and restarts again and again.
	PodsCrash PodTroubleReason = "CrashLoop"
	// PodsLackImage: an image can't be pulled.
	PodsLackImage PodTroubleReason = "ImagePull"
	// PodsUnschedulable: no node has room for the pod.
	PodsUnschedulable PodTroubleReason = "Unschedulable"
	// PodsCannotStart: a container can't be created or started, for example because a ConfigMap is
	// missing.
	PodsCannotStart PodTroubleReason = "CannotStart"
)

// Words returns a description for people, such as "2 of 3 pods crash". Of is the wanted number of
// pods.
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

// words returns a verb for the problem.
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
