package route

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Reclaimed returns a route as it was before a user took the release's hold out of its annotation;
// nil if that is unknown. It needs a Service without another holder, and rules exactly as sharing
// makes them, so the result can be restored like any other held route. The matches of the release's
// steps show which rules are for matches. The canary is the second Ingress of an Ingress that
// belongs to the release; nil if there is none.
//
// The caller must know that the two Services are the release's, or don't exist: rules that refer to
// Services of another owner may look alike.
func Reclaimed(
	kind v1alpha1.TrafficRouteKind, route, canary *unstructured.Unstructured, use Use, steps []v1alpha1.Step,
) *unstructured.Unstructured {
	held, bad := holdsOf(route)
	key := use.in(text(metadataOf(route)["namespace"])).key()
	if _, found := held[key]; bad != nil || found {
		return nil
	}
	of := KindOf(kind)
	for _, matches := range slices.Insert(matchesOf(steps), 0, nil) {
		share := traffic.Share{Matches: matches}
		for range 2 { // by the first, it is read which weight the second has
			again := heldAs(route, held, key, use, share)
			if again == nil {
				break
			}
			seen := of.Read(again, canary, use)
			if seen.Whole && seen.Problem == nil {
				return again
			}
			share.Weight = seen.Share.Weight
		}
	}
	return nil
}

// heldAs returns a route with one more hold; nil if its annotation can't have that.
func heldAs(route *unstructured.Unstructured, held holds, key string, use Use, share traffic.Share) *unstructured.Unstructured {
	with, bad := held.with(key, use.Holder, share)
	if bad != nil {
		return nil
	}
	again, bad := written(cloned(route), with)
	if bad != nil {
		return nil
	}
	return again
}

// matchesOf returns those of the steps that have any.
func matchesOf(steps []v1alpha1.Step) [][]v1alpha1.RequestMatch {
	var all [][]v1alpha1.RequestMatch
	for i := range steps {
		if len(steps[i].Matches) > 0 {
			all = append(all, steps[i].Matches)
		}
	}
	return all
}
