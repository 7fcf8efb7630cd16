package gitsync

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
)

// observer reads what the cluster has of a source. It writes nothing.
type observer struct {
	cached     client.Client
	live       client.Reader
	clock      clock.PassiveClock
	namespaces []string
}

func (o observer) observe(ctx context.Context, desired plan.Desired, m *memory) (plan.Observed, error) {
	seen := plan.Observed{
		Now: o.clock.Now(), Releases: map[plan.Key]*v1alpha1.BatchRelease{}, Workloads: map[plan.Workload]bool{}, UIDs: map[plan.Workload]types.UID{}, Claims: map[plan.Workload][]string{}, Fixed: map[plan.Workload][]string{},
		Approved: map[plan.Key]json.RawMessage{}, Writers: map[plan.Key]plan.Key{}, Shared: map[plan.Key]plan.Shared{},
	}
	steps := []func(context.Context, plan.Desired, *memory, *plan.Observed) error{
		o.observeOurs, o.observeNamed, o.observeWriters, o.observeOwners, o.observeWorkloads, o.observeApproved,
	}
	for _, step := range steps {
		if err := step(ctx, desired, m, &seen); err != nil {
			return plan.Observed{}, err
		}
	}
	return seen, nil
}

// observeOurs lists the releases of the source. They belong to the cache, and are only read.
func (o observer) observeOurs(ctx context.Context, desired plan.Desired, m *memory, seen *plan.Observed) error {
	var cached []*v1alpha1.BatchRelease
	for _, namespace := range o.namespaces {
		var list v1alpha1.BatchReleaseList
		mine := client.MatchingLabels{v1alpha1.SourceLabel: desired.Source.LabelIn(namespace)}
		if err := o.cached.List(ctx, &list, client.InNamespace(namespace), mine, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("list releases of the source in %s: %w", namespace, err)
		}
		for i := range list.Items {
			cached = append(cached, &list.Items[i])
		}
	}
	for _, release := range m.releases.List(cached) {
		seen.Releases[client.ObjectKeyFromObject(release)] = release
	}
	return nil
}

// observeNamed reads the releases that Git names and that are not of the source yet.
func (o observer) observeNamed(ctx context.Context, desired plan.Desired, _ *memory, seen *plan.Observed) error {
	for _, release := range desired.Content.Releases {
		key := plan.KeyOf(release)
		if seen.Releases[key] != nil {
			continue
		}
		live := &v1alpha1.BatchRelease{}
		err := o.cached.Get(ctx, key, live)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read BatchRelease %s: %w", key, err)
		}
		if err == nil {
			seen.Releases[key] = live
		}
	}
	return nil
}

// observeWriters finds the other sources of the cluster that write releases which Git names.
func (o observer) observeWriters(ctx context.Context, desired plan.Desired, _ *memory, seen *plan.Observed) error {
	var contested []*v1alpha1.BatchRelease
	for _, release := range seen.Releases {
		if release.Labels[v1alpha1.SourceLabel] != "" && !plan.Ours(desired.Source, release) {
			contested = append(contested, release)
		}
	}
	if len(contested) == 0 {
		return nil
	}
	var sources v1alpha1.ReleaseSourceList
	if err := o.cached.List(ctx, &sources, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list sources: %w", err)
	}
	for _, release := range contested {
		for i := range sources.Items {
			if plan.Ours(&sources.Items[i], release) {
				seen.Writers[client.ObjectKeyFromObject(release)] = client.ObjectKeyFromObject(&sources.Items[i])
			}
		}
	}
	return nil
}

// observeOwners finds releases of which others own fields that Git gives. The cache does not have
// the owners. This process knows them of what it has written; of all else it reads them live, once.
func (o observer) observeOwners(ctx context.Context, desired plan.Desired, m *memory, seen *plan.Observed) error {
	asked := map[string]bool{}
	for _, release := range desired.Content.Releases {
		key := plan.KeyOf(release)
		live := seen.Releases[key]
		if live != nil && plan.Ours(desired.Source, live) && m.soleOwner[key] != soleOwned(live.UID) {
			asked[key.Namespace] = true
		}
	}
	for namespace := range asked {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BatchReleaseList"))
		mine := client.MatchingLabels{v1alpha1.SourceLabel: desired.Source.LabelIn(namespace)}
		if err := o.live.List(ctx, list, client.InNamespace(namespace), mine); err != nil {
			return fmt.Errorf("read who owns the fields of releases in %s: %w", namespace, err)
		}
		for i := range list.Items {
			if err := m.sawOwners(&list.Items[i], seen); err != nil {
				return err
			}
		}
	}
	return nil
}
