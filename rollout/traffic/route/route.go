package route

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Kind is a kind of route. Nothing that is given to it is changed.
type Kind interface {
	// Read returns the state of a route for a use. It leaves Named to callers that know the spec. The
	// second object is the canary Ingress of an Ingress that is held; nil if there is none.
	Read(route, canary *unstructured.Unstructured, use Use) traffic.Route
	// Share returns the route as it shares requests, held by the release.
	Share(route *unstructured.Unstructured, use Use, share traffic.Share) (*unstructured.Unstructured, *v1alpha1.TrafficProblem)
	// Restore returns the route as it is without the release. One that the release does not hold comes
	// back as it is.
	Restore(route *unstructured.Unstructured, use Use) (*unstructured.Unstructured, *v1alpha1.TrafficProblem)
}

// KindOf returns what knows a kind of route; nil if nothing does.
func KindOf(kind v1alpha1.TrafficRouteKind) Kind {
	switch kind {
	case v1alpha1.RouteHTTP:
		return gateway{kind, dialect{}}
	case v1alpha1.RouteGRPC:
		return gateway{kind, dialect{grpc: true}}
	case v1alpha1.RouteIngress:
		return ingress{}
	default:
		return nil
	}
}

// trial is a share that needs as much room as any other.
var trial = traffic.Share{Weight: 50}

// gateway is a kind of the Gateway API.
type gateway struct {
	kind v1alpha1.TrafficRouteKind
	dialect
}

// Read implements Kind.
func (g gateway) Read(route, _ *unstructured.Unstructured, use Use) traffic.Route {
	seen := traffic.Route{TrafficRoute: identityOf(g.kind, route, use), Generation: generationOf(route)}
	status := statusOf(route)
	seen.Observed = status.observed()
	seen.Accepted, seen.Pending, seen.Refused = status.accepted(), status.pending(), status.refused().of(g.kind, route)
	g.readShare(route, use, &seen)
	return seen
}

// readShare says how requests are shared. A route that is held is only a problem if requests can't
// even be taken from the canary side.
func (g gateway) readShare(route *unstructured.Unstructured, use Use, seen *traffic.Route) {
	t, one, bad := g.open(route, use)
	if bad != nil {
		seen.Problem, seen.Strays = bad.of(g.kind, route), g.refersToSide(route, use)
		return
	}
	attempt := trial
	if one != nil {
		weight, told := t.sharing()
		if !told {
			weight = one.Weight
		}
		seen.Held, seen.Share = true, traffic.Share{Weight: weight, Matches: one.Matches}
		attempt = traffic.Share{}
		want, _ := g.Share(route, use, seen.Share)
		seen.Whole = want != nil && same(want.Object["spec"], route.Object["spec"]) && same(metadataOf(want)["annotations"], metadataOf(route)["annotations"])
	}
	_, refers := t.refersToSide()
	seen.Strays = one == nil && refers
	_, seen.Problem = g.Share(route, use, attempt)
}

// refersToSide reports whether a rule refers to a side, whatever the annotation says.
func (g gateway) refersToSide(route *unstructured.Unstructured, use Use) bool {
	t := &table{dialect: g.dialect, names: use.in(text(metadataOf(route)["namespace"]))}
	spec, bad := objectIn(route.Object, "spec", "")
	if bad != nil || t.read(spec) != nil {
		return false
	}
	_, refers := t.refersToSide()
	return refers
}

// Share implements Kind.
func (g gateway) Share(
	route *unstructured.Unstructured, use Use, share traffic.Share,
) (*unstructured.Unstructured, *v1alpha1.TrafficProblem) {
	shared, bad := g.share(route, use, share)
	return shared, bad.of(g.kind, route)
}

func (g gateway) share(route *unstructured.Unstructured, use Use, share traffic.Share) (*unstructured.Unstructured, *problem) {
	if share.Weight < 0 || share.Weight > whole {
		return nil, notShareable("a weight must be from 0 to %d, is %d", whole, share.Weight)
	}
	t, one, bad := g.open(route, use)
	if bad != nil {
		return nil, bad
	}
	held := t.rules
	if one != nil {
		t.restored()
	} else if side, is := t.refersToSide(); is {
		return nil, notShareable("%s refers to Service %s, which a release makes and deletes: refer to %s", side.place, quoted(side.ref["name"]), use.Service)
	}
	if !t.named() {
		return nil, problemf(v1alpha1.TrafficServiceNotNamed, "no rule refers to Service %s", use.Service)
	}
	if bad := t.shared(share); bad != nil {
		if one == nil || share.Weight > 0 || len(share.Matches) > 0 {
			return nil, bad
		}
		t.rules = held
		t.lowered()
	}
	holds, bad := t.held.with(t.key(), use.Holder, share)
	if bad != nil {
		return nil, bad
	}
	return t.write(route, holds)
}

// Restore implements Kind.
func (g gateway) Restore(route *unstructured.Unstructured, use Use) (*unstructured.Unstructured, *v1alpha1.TrafficProblem) {
	t, one, bad := g.open(route, use)
	if bad != nil {
		return nil, bad.of(g.kind, route)
	}
	if one == nil {
		return cloned(route), nil
	}
	t.restored()
	restored, bad := t.write(route, t.held.without(t.key()))
	return restored, bad.of(g.kind, route)
}

// open reads the rules of a route, and what the annotation says about the Service.
func (g gateway) open(route *unstructured.Unstructured, use Use) (*table, *hold, *problem) {
	held, bad := holdsOf(route)
	if bad != nil {
		return nil, nil, bad
	}
	t := &table{dialect: g.dialect, held: held, names: use.in(text(metadataOf(route)["namespace"]))}
	one, bad := held.heldBy(use, t.key())
	if bad != nil {
		return nil, nil, bad
	}
	spec, bad := objectIn(route.Object, "spec", "")
	if bad != nil {
		return nil, nil, bad
	}
	return t, one, t.read(spec)
}

// write returns the route with the rules and these holds.
func (t *table) write(route *unstructured.Unstructured, held holds) (*unstructured.Unstructured, *problem) {
	next := cloned(route)
	if spec, ok := next.Object["spec"].(object); ok && (spec["rules"] != nil || len(t.rules) > 0) {
		spec["rules"] = t.list()
	}
	return written(next, held)
}

// identityOf names a route as a release does.
func identityOf(kind v1alpha1.TrafficRouteKind, route *unstructured.Unstructured, use Use) v1alpha1.TrafficRoute {
	metadata := metadataOf(route)
	named := v1alpha1.TrafficRoute{Kind: kind, Name: text(metadata["name"]), Service: use.Service}
	if namespace := text(metadata["namespace"]); namespace != use.Namespace {
		named.Namespace = namespace
	}
	return named
}

func generationOf(route *unstructured.Unstructured) int64 {
	generation, _ := integer(metadataOf(route)["generation"])
	return generation
}
