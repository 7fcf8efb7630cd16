package route

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// status is what those say that a route is attached to.
type status struct {
	generation int64
	parents    []parent
}

// parent is what one of them says.
type parent struct{ accepted, resolved condition }

// condition is a condition; its zero value is none.
type condition struct {
	status     string
	message    string
	generation int64
}

func statusOf(route *unstructured.Unstructured) status {
	given, _ := route.Object["status"].(object)
	list, _ := given["parents"].([]any)
	read := status{generation: generationOf(route)}
	for _, item := range list {
		one, _ := item.(object)
		read.parents = append(read.parents, parent{conditionOf(one, "Accepted"), conditionOf(one, "ResolvedRefs")})
	}
	return read
}

func conditionOf(in object, kind string) condition {
	list, _ := in["conditions"].([]any)
	for _, item := range list {
		if one, _ := item.(object); text(one["type"]) == kind {
			generation, _ := integer(one["observedGeneration"])
			return condition{text(one["status"]), text(one["message"]), generation}
		}
	}
	return condition{}
}

// is reports whether a condition has a status for a route as it is now.
func (c condition) is(status string, generation int64) bool {
	return c.status == status && c.generation >= generation
}

// current reports whether a condition is about a route as it is now.
func (c condition) current(generation int64) bool {
	return c.status != "" && c.generation >= generation
}

// accepted reports whether all have seen the route as it is now, and one of them sends requests by it. Where nobody has a status there is nothing to
// wait for.
func (s status) accepted() bool {
	serves := len(s.parents) == 0
	for _, p := range s.parents {
		if !p.accepted.current(s.generation) || !p.resolved.current(s.generation) {
			return false
		}
		serves = serves || p.accepted.status == "True" && p.resolved.status == "True"
	}
	return serves
}

// refused is what is said against the route as it is now; nil if nothing.
func (s status) refused() *problem {
	refusing := 0
	for _, p := range s.parents {
		if p.accepted.is("True", s.generation) && p.resolved.is("False", s.generation) {
			return problemf(v1alpha1.TrafficNotAccepted, "a Gateway can't resolve the route's backends: %s", quoted(p.resolved.message))
		}
		if p.accepted.current(s.generation) && p.accepted.status != "True" {
			refusing++
		}
	}
	if refusing == 0 || refusing < len(s.parents) {
		return nil
	}
	return problemf(v1alpha1.TrafficNotAccepted, "no Gateway accepts the route: %s", quoted(s.parents[0].accepted.message))
}
