package route

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// The annotations of ingress-nginx that make an Ingress take requests from another one with the
// same hosts and paths.
const (
	nginx              = "nginx.ingress.kubernetes.io/"
	canaryAnnotation   = nginx + "canary"
	weightAnnotation   = nginx + "canary-weight"
	headerAnnotation   = nginx + "canary-by-header"
	valueAnnotation    = nginx + "canary-by-header-value"
	patternAnnotation  = nginx + "canary-by-header-pattern"
	oldClassAnnotation = "kubernetes.io/ingress.class"
)

// ingress is the Ingress whose controller knows the annotations of ingress-nginx. The user's refers
// to the stable side, and a second one, which the release owns, has the paths of the Service with
// the canary side. The weight is that of the second. The first is always written before the second,
// also where that is deleted: so all requests reach ready endpoints between the two writes.
type ingress struct{}

// Read implements Kind. While there is a canary Ingress of the release, it holds the route,
// whatever the annotation says.
func (i ingress) Read(route, canary *unstructured.Unstructured, use Use) traffic.Route {
	seen := traffic.Route{TrafficRoute: identityOf(v1alpha1.RouteIngress, route, use), Generation: generationOf(route), Accepted: true}
	held, one, bad := openIngress(route, use)
	switch {
	case bad != nil:
	case one != nil:
		seen.Held, seen.Share = true, traffic.Share{Weight: weightOfCanary(canary), Matches: one.Matches}
		seen.Whole = i.isWhole(route, canary, use, seen.Share)
		_, bad = i.share(route, use, held, traffic.Share{})
	case canary != nil:
		seen.Held, seen.Share = true, traffic.Share{Weight: weightOfCanary(canary)}
		_, bad = i.share(route, use, held, traffic.Share{})
	default:
		_, bad = i.share(route, use, held, trial)
	}
	seen.Problem, seen.Strays = bad.of(v1alpha1.RouteIngress, route), !seen.Held && ingressRefersToSide(route, use)
	return seen
}

// ingressRefersToSide reports whether a path refers to a side, whatever the annotation says.
func ingressRefersToSide(route *unstructured.Unstructured, use Use) bool {
	own, _ := services(route)
	sides := SidesOf(use.Service)
	return slices.ContainsFunc(own, func(service object) bool { return service["name"] == sides.Stable || service["name"] == sides.Canary })
}

// isWhole reports whether both Ingresses are exactly as a share makes them.
func (i ingress) isWhole(route, canary *unstructured.Unstructured, use Use, share traffic.Share) bool {
	want, bad := i.Share(route, use, share)
	if bad != nil || !same(want.Object, route.Object) {
		return false
	}
	second, bad := CanaryIngress(route, use, share, metav1.OwnerReference{})
	switch {
	case bad != nil:
		return false
	case second == nil || canary == nil:
		return second == nil && canary == nil
	default:
		return same(second.Object["spec"], canary.Object["spec"]) && same(known(second), known(canary))
	}
}

// known returns the annotations that Sluice writes, or whose presence would change what they mean.
func known(obj *unstructured.Unstructured) object {
	annotations, _ := metadataOf(obj)["annotations"].(object)
	annotations = maps.Clone(annotations)
	maps.DeleteFunc(annotations, func(key string, _ any) bool { return !strings.HasPrefix(key, nginx) && key != oldClassAnnotation })
	return annotations
}

// weightOfCanary returns what a canary Ingress takes, in percent.
func weightOfCanary(canary *unstructured.Unstructured) int32 {
	if canary == nil {
		return 0
	}
	annotations, _ := metadataOf(canary)["annotations"].(object)
	weight, err := strconv.ParseInt(text(annotations[weightAnnotation]), 10, 32)
	if err != nil {
		return 0
	}
	return int32(min(max(weight, 0), whole))
}

// Share implements Kind.
func (i ingress) Share(
	route *unstructured.Unstructured, use Use, share traffic.Share,
) (*unstructured.Unstructured, *v1alpha1.TrafficProblem) {
	held, _, bad := openIngress(route, use)
	if bad != nil {
		return nil, bad.of(v1alpha1.RouteIngress, route)
	}
	shared, bad := i.share(route, use, held, share)
	return shared, bad.of(v1alpha1.RouteIngress, route)
}

func (ingress) share(route *unstructured.Unstructured, use Use, held holds, share traffic.Share) (*unstructured.Unstructured, *problem) {
	if _, bad := canaryAnnotations(share); bad != nil {
		return nil, bad
	}
	annotations, _ := metadataOf(route)["annotations"].(object)
	if annotations[canaryAnnotation] == "true" {
		return nil, notShareable("the Ingress is itself a canary (annotation %s): name the one that it takes requests from", canaryAnnotation)
	}
	next, sides := cloned(route), SidesOf(use.Service)
	own, bad := services(next)
	if bad != nil {
		return nil, bad
	}
	_, mine := held[use.Service]
	named := false
	for _, service := range own {
		switch name := service["name"]; {
		case name == sides.Service, mine && (name == sides.Stable || name == sides.Canary):
			service["name"] = sides.Stable
			named = true
		case name == sides.Stable, name == sides.Canary:
			return nil, notShareable("the Ingress refers to Service %s, which a release makes and deletes: refer to %s", quoted(name), sides.Service)
		}
	}
	if !named {
		return nil, problemf(v1alpha1.TrafficServiceNotNamed, "no path refers to Service %s", use.Service)
	}
	with, bad := held.with(use.Service, use.Holder, share)
	if bad != nil {
		return nil, bad
	}
	return written(next, with)
}

// Restore implements Kind.
func (ingress) Restore(route *unstructured.Unstructured, use Use) (*unstructured.Unstructured, *v1alpha1.TrafficProblem) {
	next, bad := restoredIngress(route, use)
	return next, bad.of(v1alpha1.RouteIngress, route)
}

func restoredIngress(route *unstructured.Unstructured, use Use) (*unstructured.Unstructured, *problem) {
	held, one, bad := openIngress(route, use)
	if bad != nil {
		return nil, bad
	}
	next := cloned(route)
	if one == nil {
		return next, nil
	}
	own, bad := services(next)
	if bad != nil {
		return nil, bad
	}
	for sides, i := SidesOf(use.Service), 0; i < len(own); i++ {
		if name := own[i]["name"]; name == sides.Stable || name == sides.Canary {
			own[i]["name"] = sides.Service
		}
	}
	return written(next, held.without(use.Service))
}

// openIngress reads who holds an Ingress. Its canary is that of one Service, so only one can be
// shared at a time.
func openIngress(route *unstructured.Unstructured, use Use) (holds, *hold, *problem) {
	held, bad := holdsOf(route)
	if bad != nil {
		return nil, nil, bad
	}
	for service := range held {
		if service != use.Service {
			return nil, nil, problemf(v1alpha1.TrafficHeldByAnother,
				"the Ingress shares the requests for Service %s, and can do so for one Service at a time", quoted(service))
		}
	}
	one, bad := held.heldBy(use, use.Service)
	return held, one, bad
}

// services returns the references of an Ingress to Services.
func services(obj *unstructured.Unstructured) ([]object, *problem) {
	var found []object
	spec, bad := objectIn(obj.Object, "spec", "")
	if bad != nil {
		return nil, bad
	}
	if service, bad := serviceIn(spec, "defaultBackend", "spec"); bad != nil {
		return nil, bad
	} else if service != nil {
		found = append(found, service)
	}
	rules, bad := listIn(spec, "rules", "spec")
	if bad != nil {
		return nil, bad
	}
	for i, rule := range rules {
		paths, bad := pathsIn(rule, i)
		if bad != nil {
			return nil, bad
		}
		for j, path := range paths {
			service, bad := serviceIn(path, "backend", placeOfRule(i)+".http.paths["+strconv.Itoa(j)+"]")
			if bad != nil {
				return nil, bad
			}
			if service != nil {
				found = append(found, service)
			}
		}
	}
	return found, nil
}

func placeOfRule(i int) string { return "spec.rules[" + strconv.Itoa(i) + "]" }

func pathsIn(rule object, i int) ([]object, *problem) {
	http, bad := objectIn(rule, "http", placeOfRule(i))
	if bad != nil {
		return nil, bad
	}
	return listIn(http, "paths", placeOfRule(i)+".http")
}

func serviceIn(in object, field, place string) (object, *problem) {
	backend, bad := objectIn(in, field, place)
	if bad != nil {
		return nil, bad
	}
	return objectIn(backend, "service", join(place, field))
}

// CanaryIngress returns the second Ingress of an Ingress, as the release with that owner reference
// makes it; nil if there is none, because the canary side gets no requests.
func CanaryIngress(
	route *unstructured.Unstructured, use Use, share traffic.Share, owner metav1.OwnerReference,
) (*unstructured.Unstructured, *v1alpha1.TrafficProblem) {
	if share.Weight == 0 && len(share.Matches) == 0 {
		return nil, nil
	}
	canary, bad := canaryIngress(route, use, share)
	if bad != nil {
		return nil, bad.of(v1alpha1.RouteIngress, route)
	}
	canary.SetOwnerReferences([]metav1.OwnerReference{owner})
	return canary, nil
}

func canaryIngress(route *unstructured.Unstructured, use Use, share traffic.Share) (*unstructured.Unstructured, *problem) {
	annotations, bad := canaryAnnotations(share)
	if bad != nil {
		return nil, bad
	}
	restored, bad := restoredIngress(route, use)
	if bad != nil {
		return nil, bad
	}
	if _, bad := services(restored); bad != nil {
		return nil, bad
	}
	spec, _ := restored.Object["spec"].(object)
	metadata := metadataOf(route)
	if given, _ := metadata["annotations"].(object); given[oldClassAnnotation] != nil {
		annotations[oldClassAnnotation] = given[oldClassAnnotation]
	}
	_, release, _ := strings.Cut(use.Holder.Release, "/")
	return &unstructured.Unstructured{Object: object{
		"apiVersion": route.Object["apiVersion"], "kind": route.Object["kind"],
		"metadata": object{
			"name": CanaryIngressName(text(metadata["name"])), "namespace": metadata["namespace"],
			"labels": object{v1alpha1.TrafficLabel: release}, "annotations": annotations,
		},
		"spec": canarySpec(spec, SidesOf(use.Service)),
	}}, nil
}

// canarySpec has the paths of the Service alone, with the canary side.
func canarySpec(spec object, sides Sides) object {
	next := object{}
	if class := spec["ingressClassName"]; class != nil {
		next["ingressClassName"] = class
	}
	if refersTo(spec, "defaultBackend", sides) {
		next["defaultBackend"] = spec["defaultBackend"]
	}
	rules, _ := listIn(spec, "rules", "spec")
	var kept []object
	for i, rule := range rules {
		paths, _ := pathsIn(rule, i)
		var own []object
		for _, path := range paths {
			if refersTo(path, "backend", sides) {
				own = append(own, path)
			}
		}
		if len(own) > 0 {
			rule["http"].(object)["paths"] = listOf(own)
			kept = append(kept, rule)
		}
	}
	if len(kept) > 0 {
		next["rules"] = listOf(kept)
	}
	return next
}

// refersTo reports whether a backend is the Service, and makes it the canary side.
func refersTo(in object, field string, sides Sides) bool {
	service, _ := serviceIn(in, field, "")
	if service["name"] != sides.Service {
		return false
	}
	service["name"] = sides.Canary
	return true
}

// canaryAnnotations returns the annotations that select the requests of a canary Ingress.
func canaryAnnotations(share traffic.Share) (object, *problem) {
	if share.Weight < 0 || share.Weight > whole {
		return nil, notShareable("a weight must be from 0 to %d, is %d", whole, share.Weight)
	}
	annotations := object{canaryAnnotation: "true", weightAnnotation: strconv.Itoa(int(share.Weight))}
	if len(share.Matches) == 0 {
		return annotations, nil
	}
	match := share.Matches[0]
	if len(share.Matches) > 1 || len(match.Headers) != 1 || match.Path != nil || len(match.QueryParams) > 0 {
		return nil, notShareable("the annotations of ingress-nginx can express one match with one header, and no path or query parameter")
	}
	header := match.Headers[0]
	if plain.Line(header.Value) != header.Value {
		return nil, notShareable("the value %s of a header can't be in an annotation of ingress-nginx", quoted(header.Value))
	}
	annotations[headerAnnotation] = header.Name
	if header.Type == v1alpha1.MatchRegularExpression {
		annotations[patternAnnotation] = header.Value
	} else {
		annotations[valueAnnotation] = header.Value
	}
	return annotations, nil
}
