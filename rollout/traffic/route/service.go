package route

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// ServiceProblem returns why a user's Service can't be replaced by two that select one version
// each; nil if it can. The pods belong to a workload, such as Deployment web, and have these
// labels.
func ServiceProblem(service *corev1.Service, workload string, pods map[string]string) *v1alpha1.TrafficProblem {
	problem := &v1alpha1.TrafficProblem{
		Type: v1alpha1.TrafficNotShareable, Object: fmt.Sprintf("Service %s/%s", service.Namespace, service.Name),
	}
	owner := metav1.GetControllerOf(service)
	switch {
	case owner != nil && owner.Kind == "BatchRelease":
		problem.Message = fmt.Sprintf("the Service belongs to release %s, which makes and deletes it: name the Service that this one is a side of", quoted(owner.Name))
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		problem.Message = "the Service selects no pods: spec.type is ExternalName"
	case len(service.Spec.Selector) == 0:
		problem.Message = "the Service selects no pods: spec.selector is empty"
	case !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pods)):
		problem.Message = "the Service does not select the pods of " + workload
	default:
		return nil
	}
	return problem
}

// Port is a port of a Service that a route refers to.
type Port struct {
	// Place of the reference in the route.
	Place string
	// Number is the port's, or Name, if the route has that.
	Number int64
	Name   string
}

// PortsOf returns the ports of the Service of a use that a route refers to. It leaves out a
// reference without a port, or one that can't be read: Kind.Share and the API server report these.
func PortsOf(kind v1alpha1.TrafficRouteKind, route *unstructured.Unstructured, use Use) []Port {
	spec, _ := objectIn(route.Object, "spec", "")
	if kind == v1alpha1.RouteIngress {
		return portsOfIngress(spec, use)
	}
	t := &table{names: use.in(text(metadataOf(route)["namespace"]))}
	_ = t.read(spec) // as far as it goes
	var ports []Port
	for _, r := range t.rules {
		for _, b := range r.backends {
			if number, ok := integer(b.ref["port"]); ok && t.original(b) {
				ports = append(ports, Port{Place: b.place + ".port", Number: number})
			}
		}
	}
	return ports
}

func portsOfIngress(spec object, use Use) []Port {
	var ports []Port
	add := func(in object, field, place string) {
		service, _ := serviceIn(in, field, place)
		port, _ := objectIn(service, "port", "")
		number, _ := integer(port["number"])
		if name := text(port["name"]); service["name"] == use.Service && (number != 0 || name != "") {
			ports = append(ports, Port{join(place, field) + ".service.port", number, name})
		}
	}
	add(spec, "defaultBackend", "spec")
	rules, _ := listIn(spec, "rules", "spec")
	for i, rule := range rules {
		paths, _ := pathsIn(rule, i)
		for j, path := range paths {
			add(path, "backend", fmt.Sprintf("%s.http.paths[%d]", placeOfRule(i), j))
		}
	}
	return ports
}
