package gitsync

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kinds"
)

// observeWorkloads finds the workloads that are there, and those of them that can't become what Git
// asks for.
func (o observer) observeWorkloads(ctx context.Context, desired plan.Desired, m *memory, seen *plan.Observed) error {
	sets, fixed := map[plan.Workload]types.UID{}, map[plan.Workload]spec.Fixed{}
	for _, namespace := range o.namespaces {
		if err := o.listWorkloads(ctx, namespace, seen, sets, fixed); err != nil {
			return err
		}
	}
	for _, release := range desired.Content.Releases {
		if kept, there := fixed[plan.WorkloadOf(release)]; there {
			seen.Fixed[plan.WorkloadOf(release)] = release.ChangedFixed(kept)
		}
		if uid, there := sets[plan.WorkloadOf(release)]; there {
			if err := o.observeClaims(ctx, release, uid, m, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// listWorkloads reads a namespace of the caches, and adds the UIDs of StatefulSets to sets, and
// what never changes of all to fixed.
func (o observer) listWorkloads(
	ctx context.Context, namespace string, seen *plan.Observed, sets map[plan.Workload]types.UID, fixed map[plan.Workload]spec.Fixed,
) error {
	var deployments appsv1.DeploymentList
	var statefulSets appsv1.StatefulSetList
	var daemonSets appsv1.DaemonSetList
	for _, list := range []client.ObjectList{&deployments, &statefulSets, &daemonSets} {
		if err := o.cached.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list workloads in %s: %w", namespace, err)
		}
	}
	note := func(kind string, object client.Object) plan.Workload {
		workload := plan.Workload{Kind: kind, Key: client.ObjectKeyFromObject(object)}
		seen.Workloads[workload], seen.UIDs[workload], fixed[workload] = true, object.GetUID(), spec.FixedOf(object)
		return workload
	}
	for i := range deployments.Items {
		note(kinds.Deployment, &deployments.Items[i])
	}
	for i := range statefulSets.Items {
		sets[note(kinds.StatefulSet, &statefulSets.Items[i])] = statefulSets.Items[i].UID
	}
	for i := range daemonSets.Items {
		note(kinds.DaemonSet, &daemonSets.Items[i])
	}
	return nil
}

// comparedClaims is the result of comparing the volume claim templates of a StatefulSet and of a
// release. They never change, so it holds as long as the two objects are the same.
type comparedClaims struct {
	release *spec.Release
	uid     types.UID
	changed []string
}

// observeClaims compares the volume claim templates of a release's StatefulSet with those in Git.
// The cache does not have them: they are read live, once for each change in Git. The UID is that of
// the StatefulSet in the cache, empty if it is not there yet.
func (o observer) observeClaims(ctx context.Context, release *spec.Release, uid types.UID, m *memory, seen *plan.Observed) error {
	given, known := release.Claims()
	if !known {
		return nil
	}
	name := plan.WorkloadOf(release)
	last := m.claims[plan.KeyOf(release)]
	if last.release != release || last.uid != uid || uid == "" {
		set := &appsv1.StatefulSet{}
		err := o.live.Get(ctx, name.Key, set)
		if apierrors.IsNotFound(err) {
			return nil // it was deleted, and the cache is behind
		}
		if err != nil {
			return fmt.Errorf("read volume claim templates of %s: %w", name, err)
		}
		last = comparedClaims{release, set.UID, spec.ChangedClaims(given, set.Spec.VolumeClaimTemplates)}
		m.claims[plan.KeyOf(release)] = last
	}
	seen.Claims[name] = last.changed
	return nil
}

// keepClaims forgets what was compared for releases that Git does not have any more.
func (m *memory) keepClaims(wanted []*spec.Release) {
	named := map[plan.Key]bool{}
	for _, release := range wanted {
		named[plan.KeyOf(release)] = true
	}
	maps.DeleteFunc(m.claims, func(key plan.Key, _ comparedClaims) bool { return !named[key] })
}

// existed records a workload that was to be created, and is there already.
func (p *pass) existed(ctx context.Context, release *spec.Release) error {
	p.observed.Workloads[plan.WorkloadOf(release)] = true
	return p.observeClaims(ctx, release, "", p.memory, &p.observed)
}
