package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// kind of the workloads of a fleet.
type kind string

const (
	deployments  kind = "" // what a fleet is made of that says nothing
	statefulSets kind = "StatefulSet"
	daemonSets   kind = "DaemonSet"
)

func (k kind) String() string {
	if k == deployments {
		return "Deployment"
	}
	return string(k)
}

// inPlace reports whether there is a place for each pod, which a pod leaves before the next one
// takes it.
func (k kind) inPlace() bool { return k != deployments }

// workload returns one of the fleet, in its first version.
func (f fleet) workload(name string) client.Object {
	switch f.kind {
	case statefulSets:
		return f.statefulSet(name)
	case daemonSets:
		return f.daemonSet(name)
	}
	return f.deployment(name)
}

// statefulSet has the field maxUnavailable, which servers drop that have the feature gate off.
func (f fleet) statefulSet(name string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{appLabel: name}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &f.pods, PodManagementPolicy: f.policy,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: name}},
			Template: f.template(name, 1),
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{
					MaxUnavailable: new(intstr.FromInt32(f.unavailable)),
				},
			},
		},
	}
}

func (f fleet) daemonSet(name string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{appLabel: name}},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: name}},
			Template: f.template(name, 1),
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: new(intstr.FromInt32(f.unavailable))},
			},
		},
	}
}

// lab returns what the fleet takes of a control plane: a DaemonSet has as many pods as there are
// nodes.
func (f fleet) lab(args ...string) controlplane.Options {
	options := controlplane.Options{ExtraArgs: map[string][]string{"kube-apiserver": args, "kube-controller-manager": args}}
	if f.kind == daemonSets {
		options.Nodes = int(f.pods)
	}
	return options
}

// bounds returns how many pods there must be available, and may be at all.
func (f fleet) bounds() (least, most int) {
	all := int(f.pods)
	if f.kind.inPlace() {
		return all - int(f.unavailable), all
	}
	return all - all/4, all + (all+3)/4
}

// runs reports whether all pods of a workload run a version and no others are left, as kubectl
// rollout status has it.
func runs(version int) func(client.Object) bool {
	return func(object client.Object) bool {
		switch o := object.(type) {
		case *appsv1.Deployment:
			s, all := o.Status, ptr.Deref(o.Spec.Replicas, 1)
			return isOf(o.Spec.Template, version) && s.ObservedGeneration >= o.Generation &&
				s.UpdatedReplicas == all && s.Replicas == all && s.AvailableReplicas == all
		case *appsv1.StatefulSet:
			s, all := o.Status, ptr.Deref(o.Spec.Replicas, 1)
			return isOf(o.Spec.Template, version) && s.ObservedGeneration >= o.Generation &&
				s.UpdatedReplicas == all && s.Replicas == all && s.AvailableReplicas == all
		case *appsv1.DaemonSet:
			s, all := o.Status, o.Status.DesiredNumberScheduled
			return isOf(o.Spec.Template, version) && s.ObservedGeneration >= o.Generation && all > 0 &&
				s.UpdatedNumberScheduled == all && s.CurrentNumberScheduled == all && s.NumberAvailable == all
		}
		return false
	}
}

func isOf(template corev1.PodTemplateSpec, version int) bool {
	return template.Spec.Containers[0].Image == image(version)
}
