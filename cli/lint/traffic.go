package lint

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// routeKey names a route.
type routeKey struct {
	kind            v1alpha1.TrafficRouteKind
	namespace, name string
}

// others are the routes and Services of the repository. One that is given twice, by overlays of
// several clusters for example, may be either.
type others struct {
	routes   map[routeKey][]spec.Route
	services map[types.NamespacedName][]spec.Service
	// sharing has the trains with a member that shares requests.
	sharing map[types.NamespacedName]bool
}

func othersOf(read *spec.Result) *others {
	found := &others{map[routeKey][]spec.Route{}, map[types.NamespacedName][]spec.Service{}, map[types.NamespacedName]bool{}}
	for _, release := range read.Releases {
		if release.Train == "" {
			continue
		}
		if _, shares, _ := unstructured.NestedMap(release.Object().Object, "spec", "strategy", "traffic"); shares {
			found.sharing[types.NamespacedName{Namespace: release.Namespace, Name: release.Train}] = true
		}
	}
	for _, one := range read.Routes {
		key := routeKey{one.Kind, one.Namespace, one.Name}
		found.routes[key] = append(found.routes[key], one)
	}
	for _, one := range read.Services {
		key := types.NamespacedName{Namespace: one.Namespace, Name: one.Name}
		found.services[key] = append(found.services[key], one)
	}
	return found
}

// Traffic compares releases with the routes, Services and workloads of their repository.
type Traffic struct {
	files  fs.FS
	others *others
}

// TrafficOf takes what was read of a repository.
func TrafficOf(files fs.FS, read *spec.Result) *Traffic { return &Traffic{files, othersOf(read)} }

// Check finds what is wrong with how a release shares requests. It is part of what the Check of all
// files finds.
func (t *Traffic) Check(release *spec.Release) ([]Finding, error) {
	it := &review{Report: &Report{}, files: t.files, release: release}
	if err := convert(release.Object(), &it.object); err != nil {
		return nil, err
	}
	if release.HasWorkload() {
		if read, err := workloadOf(release.WorkloadObject()); err == nil {
			it.workload = read
		}
	}
	it.checkTraffic(t.others)
	it.sort()
	return it.Findings, nil
}

// checkTraffic looks for routes that can't be shared, and steps that can't do with them what they
// say.
func (r *review) checkTraffic(found *others) {
	traffic := r.object.Spec.Strategy.Traffic
	if traffic == nil {
		return
	}
	for i := range traffic.Routes {
		r.checkRoute(i, &traffic.Routes[i], found)
		r.checkService(i, found)
	}
	for i := range r.object.Spec.Strategy.Steps {
		r.checkMatches(i)
		r.checkExpressions(i)
	}
	r.checkCapacity()
	r.checkKept()
}

func routePath(index int) string { return fmt.Sprintf("spec.strategy.traffic.routes[%d]", index) }

// use returns what the release has to do with a route.
func (r *review) use(service string) route.Use {
	return route.Use{Namespace: r.release.Namespace, Service: service, Holder: route.Holder{Release: r.release.Namespace + "/" + r.release.Name}}
}

// checkRoute shares a route of the repository as the controller does.
func (r *review) checkRoute(index int, named *v1alpha1.TrafficRoute, found *others) {
	namespace := named.Namespace
	if namespace == "" {
		namespace = r.release.Namespace
	}
	of := route.KindOf(named.Kind)
	same := found.routes[routeKey{named.Kind, namespace, named.Name}]
	if of != nil && len(same) == 0 {
		r.checkNamesake(index, namespace, named, found)
	}
	if of == nil || len(same) != 1 {
		return
	}
	object, path, use := same[0].Object(), routePath(index), r.use(named.Service)
	r.checkPorts(path, route.PortsOf(named.Kind, object, use), same[0], found.services[r.service(named.Service)])
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

// checkNamesake looks for the route that was probably meant by one that is not in the repository:
// one that refers to the Service, and that the release does not name.
func (r *review) checkNamesake(index int, namespace string, named *v1alpha1.TrafficRoute, found *others) {
	routes := r.object.Spec.Strategy.Traffic.Routes
	for _, key := range slices.SortedFunc(maps.Keys(found.routes), routeKey.compare) {
		is := func(other v1alpha1.TrafficRoute) bool {
			return other.Kind == key.kind && other.Name == key.name && cmp.Or(other.Namespace, r.release.Namespace) == key.namespace
		}
		of := route.KindOf(key.kind)
		if of == nil || key.namespace != namespace || len(found.routes[key]) != 1 || slices.ContainsFunc(routes, is) {
			continue
		}
		if _, problem := of.Share(found.routes[key][0].Object(), r.use(named.Service), traffic.Share{}); problem == nil {
			path := routePath(index) + ".name"
			r.doubt(Doubt{AnotherRoute, path, key.String()}, fmt.Sprintf("%s %s is not in the path: did you mean %s %s in %s, which refers to Service %s?",
				named.Kind, named.Name, key.kind, key.name, placeOf(found.routes[key][0].Place), named.Service))
			return
		}
	}
}

func (k routeKey) String() string { return fmt.Sprintf("%s %s/%s", k.kind, k.namespace, k.name) }

func (k routeKey) compare(other routeKey) int {
	return cmp.Or(cmp.Compare(k.kind, other.kind), cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.name, other.name))
}

func placeOf(place spec.Place) string {
	if place.Line == 0 {
		return place.File
	}
	return fmt.Sprintf("%s:%d", place.File, place.Line)
}

// checkMatches looks for matches that leave the percentage of their step without a meaning.
func (r *review) checkMatches(step int) {
	steps := r.object.Spec.Strategy.Steps
	weight := v1alpha1.TrafficOf(steps, step)
	for i := range steps[step].Matches {
		if weight < all && steps[step].Matches[i].All() {
			path := fmt.Sprintf("spec.strategy.steps[%d].matches[%d]", step, i)
			r.doubt(Doubt{Rule: MatchOfAll, Path: path}, fmt.Sprintf(
				"sends all requests to the new version, and not %d%% of them: name a longer path, a header or a query parameter, or set traffic: 100%%", weight))
		}
	}
}

// checkExpressions looks for regular expressions that are none. Each data plane has its own kind of
// them: most have RE2, as Go does.
func (r *review) checkExpressions(step int) {
	check := func(path, value string) {
		if _, err := regexp.Compile(value); err != nil {
			reason := strings.TrimPrefix(plain.Line(err.Error()), "error parsing regexp: ")
			r.doubt(Doubt{Rule: NoExpression, Path: path}, "not a regular expression of RE2, which most Gateways have: "+plain.UpTo(reason, maxReason))
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

// checkCapacity looks for pods that are not enough for the requests of their step, as long as the
// Deployment has the replicas of its manifest.
func (r *review) checkCapacity() {
	if r.workload == nil || r.workload.replicas == nil {
		return
	}
	replicas := *r.workload.replicas
	of := &plan.Workload{Replicas: replicas, MaxSurge: r.workload.surge, MaxUnavailable: r.workload.unavailable, Mover: deployment.Mover{}}
	steps := r.object.Spec.Strategy.Steps
	for i, batch := range plan.ForecastOf(&r.object, of, false).Batches {
		path, weight := fmt.Sprintf("spec.strategy.steps[%d].replicas", i), v1alpha1.TrafficOf(steps, i)
		switch {
		case replicas == 0:
		case batch.Pods == 0:
			if weight > 0 || len(steps[i].Matches) > 0 {
				r.doubt(Doubt{NoPods, path, r.workload.name}, fmt.Sprintf(
					"%s has %s, and only a step with 100%% updates the last one: this step has no new pod that could get requests",
					r.workload.name, plain.Count(replicas, "replica")))
			}
		case batch.Short:
			r.doubt(Doubt{TooFewPods, path, r.workload.name}, fmt.Sprintf(
				"%d of the %d pods of %s are not enough for %d%% of the requests, and the step waits for more: set more, or allowOverload: true in strategy.traffic",
				batch.Pods, replicas, r.workload.name, weight))
		case batch.Weight < weight:
			r.doubt(Doubt{LessTraffic, path, r.workload.name}, fmt.Sprintf(
				"%d of the %d pods of %s are enough for %d%% of the requests, and the new version gets no more until a step with 100%%, though this one says %d%%",
				batch.Pods, replicas, r.workload.name, batch.Weight, weight))
		}
	}
}

// checkKept looks for old pods that are kept for the way back, and go as soon as the new version
// has all requests.
func (r *review) checkKept() {
	strategy := r.object.Spec.Strategy
	traffic, last := strategy.Traffic, len(strategy.Steps)-1
	waits := traffic.OldPodsDelaySeconds > 0 || v1alpha1.TrafficOf(strategy.Steps, last-1) == all
	for _, gate := range strategy.Steps[last].Gates {
		waits = waits || gate.None == nil
	}
	if traffic.KeepOldPods && !waits {
		r.doubt(Doubt{Rule: KeptForNothing, Path: "spec.strategy.traffic.keepOldPods"}, "the old pods go as soon as the new version has all requests: "+
			"to keep them longer, set oldPodsDelaySeconds, or give the last step a gate, such as soak")
	}
}

const all = 100
