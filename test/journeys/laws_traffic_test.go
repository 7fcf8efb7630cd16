package journeys

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

const hundred = 100

// shares returns the weights of a route's backends, by Service, in percent of those of one Service
// and its sides.
func shares(route *unstructured.Unstructured, service string) map[string]int32 {
	sums, total := map[string]int64{}, int64(0)
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	for _, rule := range rules {
		refs, _, _ := unstructured.NestedSlice(rule.(map[string]any), "backendRefs")
		for _, ref := range refs {
			one := ref.(map[string]any)
			name, weight := one["name"].(string), one["weight"].(int64)
			if name == service || name == service+"-stable" || name == service+"-canary" {
				sums[name] += weight
				total += weight
			}
		}
	}
	got := map[string]int32{}
	for name, sum := range sums {
		if total > 0 && sum > 0 {
			got[name] = int32(math.Ceil(float64(sum) * hundred / float64(total)))
		}
	}
	return got
}

// readyEndpoints counts those of a Service, as the slices that are about what it selects have them.
func (s *scene) readyEndpoints(service string) int {
	of := s.services[service]
	ready := 0
	for _, slice := range s.slices {
		if of == nil || slice.Labels[discoveryv1.LabelServiceName] != service || slice.Labels[v1alpha1.RevisionLabel] != of.Labels[v1alpha1.RevisionLabel] {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
				ready++
			}
		}
	}
	return ready
}

// seeRoute checks a written route: a side that gets more requests than before has ready endpoints.
func (r *replay) seeRoute(before *scene, route *unstructured.Unstructured) {
	had := map[string]int32{"web": hundred}
	if old := before.routes[route.GetName()]; old != nil {
		had = shares(old, "web")
	}
	for service, share := range shares(route, "web") {
		if service == "web" || share <= had[service] || r.now.rests == nil {
			continue
		}
		if before.readyEndpoints(service) == 0 {
			r.breaks(servedSide, "%s gets %d%% and has no endpoint that is ready", service, share)
		}
	}
}

// sideOf returns the Service that selects a ReplicaSet, and its weight in the routes, in percent;
// nothing if there is none.
func (s *scene) sideOf(set *appsv1.ReplicaSet) (service string, share int32) {
	for _, name := range []string{"web-stable", "web-canary"} {
		of := s.services[name]
		if of == nil || of.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey] != set.Labels[appsv1.DefaultDeploymentUniqueLabelKey] {
			continue
		}
		for _, route := range s.routes {
			if got := shares(route, "web")[name]; got >= share {
				service, share = name, got
			}
		}
	}
	return service, share
}

// judgeServing checks that no pod goes which requests need. A side that is left needs pods for
// spec.replicas - maxUnavailable alone.
func (r *replay) judgeServing(before *scene, had, set *appsv1.ReplicaSet) {
	if len(r.routes) == 0 || replicas(set) >= replicas(had) || r.least() == 0 {
		return
	}
	service, share := before.sideOf(set)
	if share == 0 {
		return
	}
	enough := r.least() - r.bounds(r.least()).unavailable
	needs := int32(math.Ceil(float64(enough) * float64(share) / hundred))
	if replicas(set) < min(needs, replicas(had)) {
		r.breaks(pulledPods, "%s %d -> %d, but %s gets %d%% of the requests and needs %d", set.Name, replicas(had), replicas(set), service, share, needs)
	}
}

// mostForRequests returns the largest number of pods in the steps of a release that shares
// requests.
func (r *replay) mostForRequests() int32 {
	release := r.release()
	if release == nil || release.Spec.Strategy.Traffic == nil {
		return 0
	}
	most, share := int32(0), int32(0)
	for i, step := range release.Spec.Strategy.Steps {
		stays := int32(math.Ceil(float64(r.most()) * float64(hundred-share) / hundred))
		if release.Spec.Strategy.Traffic.KeepOldPods {
			stays = r.most()
		}
		most = max(most, target(step, r.most())+stays)
		share = v1alpha1.TrafficOf(release.Spec.Strategy.Steps, i)
	}
	return most
}

// servesRequests reports whether a ReplicaSet is that of the stable side, which grows where
// requests come back to it.
func (r *replay) servesRequests(set *appsv1.ReplicaSet) bool {
	stable := r.services["web-"+string(traffic.StableSide)]
	return stable != nil && stable.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey] == set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

// judgePast checks that no released pod is ready beside others while no route is shared: requests
// would reach it against the steps.
func (r *replay) judgePast() {
	release := r.release()
	if release == nil || release.Spec.Strategy.Traffic == nil || release.DeletionTimestamp != nil || r.epoch == nil || r.epoch.rollback || len(r.routes) == 0 {
		return
	}
	for _, route := range r.routes {
		if _, past := shares(route, "web")["web"]; !past {
			return
		}
	}
	updated, others := int32(0), int32(0)
	for _, set := range r.setsOf(r.held()) {
		if digestOf(&set.Spec.Template) == r.epoch.digest {
			updated += set.Status.ReadyReplicas
		} else {
			others += set.Status.ReadyReplicas
		}
	}
	if updated > 0 && others > 0 {
		r.breaks(pastSides, "%d pods of the new version are ready beside %d others, and the route refers to the Service of all", updated, others)
	}
}
