package lint

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// routeKey names a route.
type routeKey struct {
	kind            v1alpha1.TrafficRouteKind
	namespace, name string
}

// routes are those of the repository. One that is given twice, by overlays of several clusters for example, may be either.
type routes map[routeKey][]spec.Route

func routesOf(all []spec.Route) routes {
	found := routes{}
	for _, one := range all {
		key := routeKey{one.Kind, one.Namespace, one.Name}
		found[key] = append(found[key], one)
	}
	return found
}

// checkTraffic looks for routes that can't be shared, and steps that can't do with them what they say.
func (r *review) checkTraffic(found routes) {
	traffic := r.object.Spec.Strategy.Traffic
	if traffic == nil {
		return
	}
	for i := range traffic.Routes {
		r.checkRoute(i, &traffic.Routes[i], found)
	}
	for i := range r.object.Spec.Strategy.Steps {
		r.checkExpressions(i)
		r.checkCapacity(i)
	}
	r.checkKept()
}

// checkRoute shares a route of the repository as the controller does.
func (r *review) checkRoute(index int, named *v1alpha1.TrafficRoute, found routes) {
	namespace := named.Namespace
	if namespace == "" {
		namespace = r.release.Namespace
	}
	of := route.KindOf(named.Kind)
	same := found[routeKey{named.Kind, namespace, named.Name}]
	if of != nil && len(same) == 0 {
		r.checkNamesake(index, namespace, named, found)
	}
	if of == nil || len(same) != 1 {
		return
	}
	object, path := same[0].Object(), fmt.Sprintf("spec.strategy.traffic.routes[%d]", index)
	use := route.Use{Namespace: r.release.Namespace, Service: named.Service, Holder: route.Holder{Release: r.release.Namespace + "/" + r.release.Name}}
	refused := func(path string, share traffic.Share) bool {
		_, problem := of.Share(object, use, share)
		if problem != nil {
			if problem.Type == v1alpha1.TrafficServiceNotNamed {
				path += ".service"
			}
			r.find(Error, r.place(), path, fmt.Sprintf("%s: %s in %s: %s", path, problem.Object, placeOf(same[0].Place), problem.Message))
		}
		return problem != nil
	}
	const some = 50 // percent: both versions are in the route
	if refused(path, traffic.Share{Weight: some}) {
		return
	}
	for i, step := range r.object.Spec.Strategy.Steps {
		if len(step.Matches) > 0 {
			refused(fmt.Sprintf("spec.strategy.steps[%d].matches", i), traffic.Share{Weight: some, Matches: step.Matches})
		}
	}
}

// checkNamesake looks for the route that was probably meant by one that is not in the repository: one that refers to the Service, and that the
// release does not name.
func (r *review) checkNamesake(index int, namespace string, named *v1alpha1.TrafficRoute, found routes) {
	routes := r.object.Spec.Strategy.Traffic.Routes
	for _, key := range slices.SortedFunc(maps.Keys(found), routeKey.compare) {
		is := func(other v1alpha1.TrafficRoute) bool {
			return other.Kind == key.kind && other.Name == key.name && cmp.Or(other.Namespace, r.release.Namespace) == key.namespace
		}
		of := route.KindOf(key.kind)
		if of == nil || key.namespace != namespace || len(found[key]) != 1 || slices.ContainsFunc(routes, is) {
			continue
		}
		use := route.Use{Namespace: r.release.Namespace, Service: named.Service, Holder: route.Holder{Release: r.release.Namespace + "/" + r.release.Name}}
		if _, problem := of.Share(found[key][0].Object(), use, traffic.Share{}); problem == nil {
			path := fmt.Sprintf("spec.strategy.traffic.routes[%d].name", index)
			r.find(Warning, r.place(), path, fmt.Sprintf("%s: %s %s is not in the path: did you mean %s %s in %s, which refers to Service %s?",
				path, named.Kind, named.Name, key.kind, key.name, placeOf(found[key][0].Place), named.Service))
			return
		}
	}
}

func (k routeKey) compare(other routeKey) int {
	return cmp.Or(cmp.Compare(k.kind, other.kind), cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

func placeOf(place spec.Place) string {
	if place.Line == 0 {
		return place.File
	}
	return fmt.Sprintf("%s:%d", place.File, place.Line)
}

// checkExpressions looks for regular expressions that are none. Each data plane has its own kind of them: most have RE2, as Go does.
func (r *review) checkExpressions(step int) {
	check := func(path, value string) {
		if _, err := regexp.Compile(value); err != nil {
			reason := strings.TrimPrefix(plain.Line(err.Error()), "error parsing regexp: ")
			r.find(Warning, r.place(), path, fmt.Sprintf("%s: not a regular expression of RE2, which most Gateways have: %s", path, plain.UpTo(reason, maxReason)))
		}
	}
	for i, match := range r.object.Spec.Strategy.Steps[step].Matches {
		at := fmt.Sprintf("spec.strategy.steps[%d].matches[%d]", step, i)
		if match.Path != nil && match.Path.Type == v1alpha1.PathRegularExpression {
			check(at+".path.value", match.Path.Value)
		}
		for name, values := range map[string][]v1alpha1.ValueMatch{"headers": match.Headers, "queryParams": match.QueryParams} {
			for j, value := range values {
				if value.Type == v1alpha1.MatchRegularExpression {
					check(fmt.Sprintf("%s.%s[%d].value", at, name, j), value.Value)
				}
			}
		}
	}
}

// maxReason is the most bytes of a message of somebody else's, which quotes the value.
const maxReason = 200

// checkCapacity looks for a number of pods that gets more requests than it is meant for, as long as the Deployment has the replicas of its
// manifest. Percentages are compared without it, but all of them below 100% come to no pod of one.
func (r *review) checkCapacity(index int) {
	strategy := r.object.Spec.Strategy
	step, weight := strategy.Steps[index], plan.TrafficOf(strategy.Steps, index)
	if r.workload == nil || r.workload.replicas == nil || step.Replicas == intstr.FromString("100%") {
		return
	}
	path, replicas := fmt.Sprintf("spec.strategy.steps[%d].replicas", index), int(*r.workload.replicas)
	if replicas == 1 && (weight > 0 || len(step.Matches) > 0) {
		r.find(Warning, r.place(), path, fmt.Sprintf(
			"%s: %s has 1 replica, and only a step with 100%% updates it: this step has no new pod that could get requests", path, r.workload.name))
		return
	}
	enough := replicas - r.mayBeMissing(index, replicas)
	pods := min(step.Replicas.IntValue(), replicas-1) // only a step with 100% updates the last one
	if step.Replicas.Type == intstr.Int && !strategy.Traffic.AllowOverload && replicas > 0 && pods*100 < int(weight)*enough {
		r.find(Warning, r.place(), path, fmt.Sprintf(
			"%s: %d of the %d pods of %s are not enough for %d%% of the requests, and the step waits for more: set more, or allowOverload: true in strategy.traffic",
			path, pods, replicas, r.workload.name, weight))
	}
}

// mayBeMissing is maxUnavailable of a step in pods.
func (r *review) mayBeMissing(step, replicas int) int {
	limit := first(r.object.Spec.Strategy.Steps[step].MaxUnavailable, r.object.Spec.Strategy.MaxUnavailable, r.workload.unavailable, new(intstr.FromString("25%")))
	pods, err := intstr.GetScaledValueFromIntOrPercent(limit, replicas, false)
	if err != nil {
		return replicas
	}
	return min(pods, replicas)
}

// checkKept looks for old pods that are kept for the way back, and go as soon as the new version has all requests.
func (r *review) checkKept() {
	strategy := r.object.Spec.Strategy
	traffic, last := strategy.Traffic, len(strategy.Steps)-1
	waits := traffic.OldPodsDelaySeconds > 0 || plan.TrafficOf(strategy.Steps, last-1) == all
	for _, gate := range strategy.Steps[last].Gates {
		waits = waits || gate.None == nil
	}
	if traffic.KeepOldPods && !waits {
		const path = "spec.strategy.traffic.keepOldPods"
		r.find(Warning, r.place(), path, path+": the old pods go as soon as the new version has all requests: "+
			"to keep them longer, set oldPodsDelaySeconds, or give the last step a gate, such as soak")
	}
}

const all = 100
