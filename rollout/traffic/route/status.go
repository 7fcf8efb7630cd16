package route

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// status holds the reports of a route's parents.
type status struct {
	generation int64
	parents    []parent
}

// parent holds the report of one of them.
type parent struct {
	name               string
	accepted, resolved condition
	// partly says that it goes by a part of the route's rules, or by those of before.
	partly condition
}

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
		read.parents = append(read.parents, parent{
			parentName(one), conditionOf(one, "Accepted"), conditionOf(one, "ResolvedRefs"), conditionOf(one, "PartiallyInvalid"),
		})
	}
	return read
}

// parentName names what a route is attached to, for people.
func parentName(entry object) string {
	ref, _ := entry["parentRef"].(object)
	name := text(ref["name"])
	if namespace := text(ref["namespace"]); namespace != "" {
		name = namespace + "/" + name
	}
	return plain.UpTo(plain.Line(textOr(ref["kind"], "Gateway")+" "+name), parentLength)
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

// observed reports whether a parent has read the route as it is now. One that does not accept it
// need not say whether it finds its backends.
func (p parent) observed(generation int64) bool {
	return p.accepted.current(generation) && (p.accepted.status != "True" || p.resolved.current(generation))
}

// observed reports whether all have read the route as it is now, whatever they make of it.
func (s status) observed() bool {
	return !slices.ContainsFunc(s.parents, func(p parent) bool { return !p.observed(s.generation) })
}

// accepted reports whether all have read the route as it is now, and one of them sends requests by
// it. Where nobody has a status there is nothing to wait for.
func (s status) accepted() bool {
	serves := func(p parent) bool { return p.accepted.status == "True" && p.resolved.status == "True" }
	return s.observed() && (len(s.parents) == 0 || slices.ContainsFunc(s.parents, serves))
}

// mostPending is how many are named that have not accepted a route. The API takes 32.
const mostPending = 4

// pending names those that say nothing of the route as it is now or, where all do, that don't send
// requests by it; none of one that is accepted.
func (s status) pending() []string {
	if s.accepted() {
		return nil
	}
	var silent, refusing []string
	for _, p := range s.parents {
		switch {
		case !p.observed(s.generation):
			silent = append(silent, p.name)
		default:
			refusing = append(refusing, p.name)
		}
	}
	if len(silent) == 0 {
		silent = refusing
	}
	return silent[:min(len(silent), mostPending)]
}

// refused returns what is said against the route as it is now; nil if nothing.
func (s status) refused() *problem {
	refusing := 0
	for _, p := range s.parents {
		if p.accepted.is("True", s.generation) && p.resolved.is("False", s.generation) {
			return problemf(v1alpha1.TrafficNotAccepted, "a Gateway can't resolve the route's backends: %s", quoted(p.resolved.message))
		}
		if p.partly.is("True", s.generation) { // Accepted is of an older generation then, if rules of before are kept
			return problemf(v1alpha1.TrafficNotAccepted, "a Gateway follows only a part of the route, or an earlier version of it: %s", quoted(p.partly.message))
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
