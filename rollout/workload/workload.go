package workload

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
)

// Workload is the object of a kind that can be released.
type Workload interface {
	metav1.Object
	// Object returns the object in its Go type.
	Object() kinds.Object
	Kind() string
	// PodTemplate returns spec.template, to be changed in place.
	PodTemplate() *corev1.PodTemplateSpec
	PodSelector() *metav1.LabelSelector
	// Size returns how many pods there are to be.
	Size() int32
	// Deadline returns spec.progressDeadlineSeconds; nil if the kind has none.
	Deadline() *int32
	// Seen returns the generation that the native controller has observed.
	Seen() int64
	// Foretell computes the name that the native controller gives the version that the template has:
	// the value of the label that its pods get, or of a StatefulSet what follows its name in there. A
	// control plane of another version may come to another name.
	Foretell() string
	// Own returns what the object gets back, if it is taken over as it is.
	Own() v1alpha1.HeldWorkload
	// Limits returns maxSurge and maxUnavailable of a strategy as Own encodes it; nil where that has
	// none.
	Limits(strategy string) (surge, unavailable *intstr.IntOrString)
	// Describe says in words what the object gets back.
	Describe(v1alpha1.HeldWorkload) string
	// Secure adds to a patch what keeps it from that, and GiveBack what undoes it.
	Secure(*jsonpatch.Patch)
	GiveBack(*jsonpatch.Patch, v1alpha1.HeldWorkload)
	// RollbackTo returns the revision to which an annotation asks the native controller to roll back;
	// empty if there is none.
	RollbackTo() string
	// RevisionName returns the name of the ControllerRevision in which the native controller keeps the
	// template of a revision; empty for a kind that keeps it in a ReplicaSet.
	RevisionName(revision string) string
	// Trim drops large fields that no pass reads.
	Trim()
	// Mover returns the workload as its mover sees it, without its pods and their sets. The hold has
	// the window.
	Mover(window string) mover.Mover
	// Insecure names the fields that are not as Secure sets them, and Kept those that are not as
	// GiveBack does.
	Insecure() []string
	Kept(v1alpha1.HeldWorkload) []string
}

// Kinds lists all kinds that can be released, in the order in which they are documented.
var Kinds = kinds.Names()

// rooms has a line for each kind, whose package defines its hold and the moves of its pods.
var rooms = map[string]func(kinds.Object) Workload{
	kinds.Deployment:  func(o kinds.Object) Workload { return &deployment.Object{Deployment: o.(*appsv1.Deployment)} },
	kinds.StatefulSet: func(o kinds.Object) Workload { return &statefulset.Object{StatefulSet: o.(*appsv1.StatefulSet)} },
	kinds.DaemonSet:   func(o kinds.Object) Workload { return &daemonset.Object{DaemonSet: o.(*appsv1.DaemonSet)} },
}

// New returns an empty object of a kind; nil if workloads of the kind can't be released.
func New(kind string) Workload {
	known := kinds.Named(kind)
	if known == nil {
		return nil
	}
	w, _ := Of(known.New())
	return w
}

// Of returns an object of apps/v1 as a Workload. It is an error if workloads of its kind can't be
// released.
func Of(object kinds.Object) (Workload, error) {
	kind := kinds.Of(object)
	if kind == nil {
		return nil, fmt.Errorf("%T can't be released", object)
	}
	return rooms[kind.Name](object), nil
}
