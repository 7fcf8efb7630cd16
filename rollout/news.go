package rollout

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// news drops updates of workloads and ReplicaSets that tell their release nothing: nothing changed
// that the cache keeps, or a pass has seen the change in the answer to its own write and decided on
// it. A resync, which repeats what the cache has, is kept.
func (r *watchMaps) news() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		resync := e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
		return resync || !r.known(e.ObjectNew) && !alike(e.ObjectOld, e.ObjectNew)
	}}
}

// alike reports whether the version is all that two objects differ in.
func alike(before, after client.Object) bool {
	same := before.DeepCopyObject().(client.Object)
	same.SetResourceVersion(after.GetResourceVersion())
	return equality.Semantic.DeepEqual(same, after)
}

// known reports whether all releases of an object have it from an answer of the API server.
func (r *watchMaps) known(object client.Object) bool {
	var releases []reconcile.Request
	set, isSet := object.(*appsv1.ReplicaSet)
	if isSet {
		releases = r.releasesOfReplicaSet(context.Background(), set)
	} else {
		releases = r.releasesOfWorkload(context.Background(), object)
	}
	all := len(releases) > 0
	for _, release := range releases {
		p := r.processes.known(release.NamespacedName)
		switch {
		case p == nil:
			all = false
		case isSet:
			all = p.sets.CaughtUp(set) && all
		default:
			all = p.workload.CaughtUp(object) && all
		}
	}
	return all
}
