// Package kinds is the registry of all kinds of workloads that can be released, below all other
// packages.
package kinds

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Object is an object of the API.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is a kind of workload of apps/v1.
type Kind struct {
	// Name is the kind, such as Deployment.
	Name string
	// Short is its short name for kubectl, such as deploy.
	Short string
	// New returns an empty object.
	New func() Object
	// Template returns the pod template of an object of the kind; nil for another object.
	Template func(Object) *corev1.PodTemplateSpec
	// Sizes returns the fields of an object of the kind that size it.
	Sizes func(Object) Sizes
	// ByNodes reports whether there is a pod on each node of a workload, and no spec.replicas. The
	// native controller follows at once the nodes that a template names, whatever the update strategy
	// (D11 of rollout/mover/daemonset).
	ByNodes bool
	// Pods returns how to find the pods of a revision of the workload with a name.
	Pods func(name, revision string) Pods
}

// Sizes holds how many pods a workload has, and how many come and go at once, as it is written: nil
// for a field that is left out, or that the kind does not have.
type Sizes struct {
	Replicas                 *int32
	MaxSurge, MaxUnavailable *intstr.IntOrString
}

// BySets reports whether the native controller keeps each version, and its pods, in a ReplicaSet.
// Others keep it in a ControllerRevision, and replace the pods of the workload.
func (k *Kind) BySets() bool { return k.Pods("", "").OwnerKind == ReplicaSet }

// Pods says how the pods of a revision are found: by labels, among the pods of their owner.
type Pods struct {
	Labels           map[string]string
	OwnerKind, Owner string
}

// The names of all kinds.
const (
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
	DaemonSet   = "DaemonSet"
)

// ReplicaSet is the kind that holds the pods of a version where BySets.
const ReplicaSet = "ReplicaSet"

// All lists every kind that can be released, in the order in which they are documented. The pods of
// a Deployment belong to a ReplicaSet of the revision, others to the workload itself. A StatefulSet
// labels them with the name of the ControllerRevision, a DaemonSet with its hash.
var All = []Kind{
	{
		Name: Deployment, Short: "deploy", New: func() Object { return &appsv1.Deployment{} },
		Template: func(o Object) *corev1.PodTemplateSpec {
			if d, is := o.(*appsv1.Deployment); is {
				return &d.Spec.Template
			}
			return nil
		},
		Sizes: func(o Object) (sizes Sizes) {
			d, is := o.(*appsv1.Deployment)
			if !is {
				return sizes
			}
			sizes.Replicas = d.Spec.Replicas
			if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
				sizes.MaxSurge, sizes.MaxUnavailable = rolling.MaxSurge, rolling.MaxUnavailable
			}
			return sizes
		},
		Pods: func(name, revision string) Pods {
			return Pods{map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: revision}, ReplicaSet, name + "-" + revision}
		},
	},
	{
		Name: StatefulSet, Short: "sts", New: func() Object { return &appsv1.StatefulSet{} },
		Template: func(o Object) *corev1.PodTemplateSpec {
			if s, is := o.(*appsv1.StatefulSet); is {
				return &s.Spec.Template
			}
			return nil
		},
		Sizes: func(o Object) (sizes Sizes) {
			s, is := o.(*appsv1.StatefulSet)
			if !is {
				return sizes
			}
			sizes.Replicas = s.Spec.Replicas
			if rolling := s.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
				sizes.MaxUnavailable = rolling.MaxUnavailable
			}
			return sizes
		},
		Pods: func(name, revision string) Pods {
			return Pods{map[string]string{appsv1.ControllerRevisionHashLabelKey: name + "-" + revision}, StatefulSet, name}
		},
	},
	{
		Name: DaemonSet, Short: "ds", ByNodes: true, New: func() Object { return &appsv1.DaemonSet{} },
		Template: func(o Object) *corev1.PodTemplateSpec {
			if d, is := o.(*appsv1.DaemonSet); is {
				return &d.Spec.Template
			}
			return nil
		},
		Sizes: func(o Object) (sizes Sizes) {
			d, is := o.(*appsv1.DaemonSet)
			if !is {
				return sizes
			}
			if rolling := d.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
				sizes.MaxSurge, sizes.MaxUnavailable = rolling.MaxSurge, rolling.MaxUnavailable
			}
			return sizes
		},
		Pods: func(name, revision string) Pods {
			return Pods{map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}, DaemonSet, name}
		},
	},
}

// Names returns the names of all kinds.
func Names() []string {
	names := make([]string, 0, len(All))
	for i := range All {
		names = append(names, All[i].Name)
	}
	return names
}

// PodOwners returns the kinds of objects that own the pods of workloads.
func PodOwners() []string {
	owners := make([]string, 0, len(All))
	for i := range All {
		owners = append(owners, All[i].Pods("", "").OwnerKind)
	}
	return owners
}

// OnNodes names the kinds that have a pod on each node, in the plural.
func OnNodes() string {
	var names []string
	for i := range All {
		if All[i].ByNodes {
			names = append(names, All[i].Name+"s")
		}
	}
	return List(names)
}

// List joins names for a sentence, such as "Deployment, StatefulSet or DaemonSet".
func List(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Named returns the kind of a name; nil if it can't be released.
func Named(name string) *Kind { return find(func(k *Kind) bool { return k.Name == name }) }

// Of returns the kind of an object; nil if it can't be released.
func Of(object Object) *Kind { return find(func(k *Kind) bool { return k.Template(object) != nil }) }

// Written returns the kind that a user wrote as kubectl accepts it, such as deploy or
// statefulsets.apps; nil if it can't be released.
func Written(text string) *Kind {
	text = strings.TrimSuffix(strings.ToLower(text), ".apps")
	return find(func(k *Kind) bool {
		name := strings.ToLower(k.Name)
		return text == name || text == name+"s" || text == k.Short
	})
}

func find(is func(*Kind) bool) *Kind {
	i := slices.IndexFunc(All, func(k Kind) bool { return is(&k) })
	if i < 0 {
		return nil
	}
	return &All[i]
}
