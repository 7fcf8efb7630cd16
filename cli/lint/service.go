package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// service names a Service of the release's namespace.
func (r *review) service(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: r.release.Namespace, Name: name}
}

// decodeService returns the one Service of that name; nil if there is none, or several, or one that
// can't be read: that is for the API server to say.
func decodeService(named []spec.Service) *corev1.Service {
	var service corev1.Service
	if len(named) != 1 || convert(named[0].Object(), &service) != nil {
		return nil
	}
	return &service
}

// checkService looks for a Service that does not select the pods of the workload, once for all
// routes that name it.
func (r *review) checkService(index int, found *others) {
	routes := r.object.Spec.Strategy.Traffic.Routes
	name := routes[index].Service
	first := slices.IndexFunc(routes, func(of v1alpha1.TrafficRoute) bool { return of.Service == name })
	named := found.services[r.service(name)]
	service := decodeService(named)
	var template corev1.PodTemplateSpec
	if service == nil || first < index || json.Unmarshal(r.object.Spec.Template.Raw, &template) != nil {
		return
	}
	if problem := route.ServiceProblem(service, r.release.WorkloadKind+" "+r.release.Workload, template.Labels); problem != nil {
		path := routePath(index) + ".service"
		r.find(Error, r.place(), path, fmt.Sprintf("%s: %s in %s: %s", path, problem.Object, placeOf(named[0].Place), problem.Message))
	}
}

// checkPorts looks for ports that a route of the repository refers to, and its Service does not
// have.
func (r *review) checkPorts(path string, ports []route.Port, from spec.Route, named []spec.Service) {
	service := decodeService(named)
	if service == nil || len(service.Spec.Selector) == 0 {
		return
	}
	for _, port := range ports {
		at := slices.IndexFunc(service.Spec.Ports, func(of corev1.ServicePort) bool {
			return port.Name != "" && of.Name == port.Name || port.Number != 0 && int64(of.Port) == port.Number
		})
		if at >= 0 {
			r.checkTarget(path, service, &service.Spec.Ports[at], named[0])
			continue
		}
		r.find(Error, r.place(), path, fmt.Sprintf("%s: %s %s/%s in %s: %s: Service %s/%s in %s has no port %s%s", path,
			from.Kind, from.Namespace, from.Name, placeOf(from.Place), port.Place,
			service.Namespace, service.Name, placeOf(named[0].Place), portWords(port.Number, port.Name), portsWords(service.Spec.Ports)))
	}
}

// checkTarget looks for a port whose targetPort is a name that no container has: the new pods would
// get no requests by it. Something in the cluster may add a container that has it.
func (r *review) checkTarget(path string, service *corev1.Service, port *corev1.ServicePort, named spec.Service) {
	var template corev1.PodTemplateSpec
	if port.TargetPort.Type != intstr.String || port.TargetPort.StrVal == "" || json.Unmarshal(r.object.Spec.Template.Raw, &template) != nil {
		return
	}
	target, protocol := port.TargetPort.StrVal, cmp.Or(port.Protocol, corev1.ProtocolTCP)
	known := portNames(&template.Spec, protocol)
	if slices.Contains(known, target) {
		return
	}
	have := ": none of its ports has a name"
	if len(known) > 0 {
		have = ", but " + plain.UpTo(strings.Join(known, " and "), maxReason)
	}
	object := service.Namespace + "/" + service.Name
	r.doubt(Doubt{NoTargetPort, path + ".service", object + " " + target}, fmt.Sprintf("Service %s in %s: port %d has targetPort %s, and no container of %s %s has a %s port of that name%s",
		object, placeOf(named.Place), port.Port, target, r.release.WorkloadKind, r.release.Workload, protocol, have))
}

// portNames returns the names of the ports of a protocol that a Service can send requests to, with
// the ports of init containers that go on.
func portNames(pod *corev1.PodSpec, protocol corev1.Protocol) []string {
	containers := slices.Clone(pod.Containers)
	for i := range pod.InitContainers {
		if restart := pod.InitContainers[i].RestartPolicy; restart != nil && *restart == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, pod.InitContainers[i])
		}
	}
	var names []string
	for i := range containers {
		for _, port := range containers[i].Ports {
			if port.Name != "" && cmp.Or(port.Protocol, corev1.ProtocolTCP) == protocol {
				names = append(names, port.Name)
			}
		}
	}
	return names
}

// portWords names a port as a route does.
func portWords(number int64, name string) string {
	if number == 0 {
		return name
	}
	return fmt.Sprint(number)
}

// portsWords lists the ports that there are.
func portsWords(ports []corev1.ServicePort) string {
	var words []string
	for _, port := range ports {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%d %s", port.Port, port.Name)))
	}
	if words == nil {
		return ": spec.ports is empty"
	}
	return ", but " + strings.Join(words, " and ")
}
