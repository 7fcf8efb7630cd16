package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// newSide returns a Service that selects the pods of one revision of those that a user's selects.
func newSide(release *v1alpha1.BatchRelease, user *corev1.Service, w traffic.PointSide) *corev1.Service {
	side := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       user.Namespace,
			Name:            sideService(user.Name, w.Name),
			Labels:          map[string]string{v1alpha1.TrafficLabel: release.Name, v1alpha1.RevisionLabel: w.Revision},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(release, v1alpha1.GroupVersion.WithKind("BatchRelease"))},
		},
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceTypeClusterIP,
			Selector:                 map[string]string{},
			SessionAffinity:          user.Spec.SessionAffinity,
			SessionAffinityConfig:    user.Spec.SessionAffinityConfig.DeepCopy(),
			IPFamilies:               slices.Clone(user.Spec.IPFamilies),
			IPFamilyPolicy:           user.Spec.IPFamilyPolicy,
			InternalTrafficPolicy:    user.Spec.InternalTrafficPolicy,
			TrafficDistribution:      user.Spec.TrafficDistribution,
			PublishNotReadyAddresses: user.Spec.PublishNotReadyAddresses,
		},
	}
	if user.Spec.ClusterIP == corev1.ClusterIPNone {
		side.Spec.ClusterIP = corev1.ClusterIPNone
	}
	maps.Copy(side.Spec.Selector, user.Spec.Selector)
	side.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey] = w.Revision
	side.Spec.Ports = portsWith(user.Spec.Ports, nil)
	return side
}

// withSide returns the known Service, changed to that of a side; fields that the API server has
// chosen stay. A user who creates a Service of this name that belongs to the release can't make it
// lead elsewhere, or be reached from elsewhere.
func withSide(known, side *corev1.Service) *corev1.Service {
	wanted := known.DeepCopy()
	if wanted.Labels == nil {
		wanted.Labels = map[string]string{}
	}
	maps.Copy(wanted.Labels, side.Labels)
	spec := &wanted.Spec
	spec.Selector, spec.PublishNotReadyAddresses = side.Spec.Selector, side.Spec.PublishNotReadyAddresses
	spec.Ports = portsWith(side.Spec.Ports, known.Spec.Ports)
	spec.SessionAffinity, spec.SessionAffinityConfig = side.Spec.SessionAffinity, side.Spec.SessionAffinityConfig
	spec.InternalTrafficPolicy, spec.TrafficDistribution = side.Spec.InternalTrafficPolicy, side.Spec.TrafficDistribution
	if firstFamily(known) == firstFamily(side) { // the API server takes no other
		spec.IPFamilies, spec.IPFamilyPolicy = side.Spec.IPFamilies, side.Spec.IPFamilyPolicy
	}
	if spec.Type != side.Spec.Type {
		spec.Type, spec.ExternalName, spec.ExternalTrafficPolicy, spec.HealthCheckNodePort = side.Spec.Type, "", "", 0
		spec.LoadBalancerIP, spec.LoadBalancerClass, spec.LoadBalancerSourceRanges, spec.AllocateLoadBalancerNodePorts = "", nil, nil, nil
	}
	spec.ExternalIPs = nil
	return wanted
}

func firstFamily(service *corev1.Service) corev1.IPFamily {
	if len(service.Spec.IPFamilies) == 0 {
		return ""
	}
	return service.Spec.IPFamilies[0]
}

// portKey tells the ports of a Service apart.
type portKey struct {
	protocol corev1.Protocol
	port     int32
}

func keyOfPort(p corev1.ServicePort) portKey { return portKey{p.Protocol, p.Port} }

// mostLost is how many ports a side keeps at most that the user's Service has lost. Nobody has a
// route that refers to a port from so many changes ago.
const mostLost = 100

// portsWith returns the ports of a user's Service, and after them further ports of a side. A port
// that the user's Service has lost stays until the Services go, because the route may still have
// it: a GitOps tool that ignores shared rules brings the route's new port only after the release. A
// port that another user has added leads to the same pods, and no route has it. The port lost last
// comes first, so surplus ports are at the end.
func portsWith(users, known []corev1.ServicePort) []corev1.ServicePort {
	of := map[portKey]bool{}
	ports := slices.Clone(users)
	for _, p := range users {
		of[keyOfPort(p)] = true
	}
	for _, p := range known {
		if !of[keyOfPort(p)] && len(ports) < len(users)+mostLost {
			ports = append(ports, p)
		}
	}
	for i := range ports {
		ports[i].NodePort = 0
	}
	namePorts(ports[len(users):], ports[:len(users)])
	return ports
}

// namePorts gives each of several ports a name of its own, as the API requires. Ports of the routes
// keep their names, since requests use them meanwhile.
func namePorts(routed, others []corev1.ServicePort) {
	if len(routed)+len(others) <= 1 {
		return
	}
	taken := map[string]bool{}
	for _, ports := range [][]corev1.ServicePort{routed, others} {
		for i := range ports {
			p := &ports[i]
			if p.Name == "" || taken[p.Name] {
				p.Name = fmt.Sprintf("port-%d", p.Port)
			}
			for taken[p.Name] {
				p.Name += "-" + strings.ToLower(string(p.Protocol))
			}
			taken[p.Name] = true
		}
	}
}

// leads reports whether a Service leads to the pods that it should, and to nothing else.
func leads(is, wanted *corev1.Service) bool {
	return equality.Semantic.DeepEqual(is.Spec.Selector, wanted.Spec.Selector) && within(is)
}

// within reports whether a Service leads to what it selects, and is reached from within the cluster
// alone.
func within(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeClusterIP && len(service.Spec.ExternalIPs) == 0
}

// sameSide reports whether a Service of a side is as it should be.
func sameSide(is, wanted *corev1.Service) bool {
	return equality.Semantic.DeepEqual(is.Spec, wanted.Spec) && equality.Semantic.DeepEqual(is.Labels, wanted.Labels)
}
