package rollout

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// observe reads a release and its objects from the caches, and replaces objects of which the
// process knows a newer version. It returns nil if the release is gone. Listed objects belong to
// the cache and are only read.
func (r *observer) observe(ctx context.Context, name types.NamespacedName, p *process) (*view, error) {
	release, err := r.observeRelease(ctx, name, p)
	if err != nil || release == nil {
		return nil, err
	}
	p = r.processes.ofRelease(name, p, release.UID)
	v := &view{
		process: p, release: release, persisted: *release.Status.DeepCopy(),
		setsLive: map[types.UID]bool{}, scaled: p.scaled,
	}
	if status := p.unwritten.of(release); status != nil {
		v.release.Status = *status
	}
	steps := []func(context.Context, *view) error{
		r.observeGiven, r.observeWorkload, r.observeSiblings, r.observeKept, r.observeParts, r.observeGates, r.observeTrain, r.routeReader.observeRouted,
	}
	for _, step := range steps {
		if err := step(ctx, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (r *observer) observeRelease(ctx context.Context, name types.NamespacedName, p *process) (*v1alpha1.BatchRelease, error) {
	var release v1alpha1.BatchRelease
	if err := r.client.Get(ctx, name, &release); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	newest, _ := p.release.Newest(&release)
	return newest, nil
}

// observeGiven computes the digest of spec.template, once for each generation.
func (*observer) observeGiven(_ context.Context, v *view) error { return observeGiven(v) }

func observeGiven(v *view) error {
	var err error
	v.given, err = v.process.given.of(v.release)
	return err
}

// of returns the digest of what a release is given, once for each generation.
func (g *givenDigest) of(release *v1alpha1.BatchRelease) (string, error) {
	if g.uid != release.UID || g.generation != release.Generation {
		digest, err := podtemplate.GivenOf(&release.Spec)
		if err != nil {
			return "", fmt.Errorf("digest of spec.template: %w", err)
		}
		*g = givenDigest{release.UID, release.Generation, digest}
	}
	return g.digest, nil
}

func (r *observer) observeWorkload(ctx context.Context, v *view) error {
	w := workload.New(v.release.Spec.WorkloadRef.Kind)
	if w == nil { // the API server takes no other kinds
		return nil
	}
	err := r.client.Get(ctx, v.workloadName(), w.Object())
	if apierrors.IsNotFound(err) {
		v.process.workload.Forget(v.workloadName())
		v.process.whole = wholeTemplate{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("get %s: %w", w.Kind(), err)
	}
	newest, _ := v.process.workload.Newest(w.Object())
	if v.workload, err = workload.Of(newest); err != nil {
		return err
	}
	v.process.whole = v.process.whole.of(v.workload)
	v.process.native = v.process.native.of(v.workload, r.clock.Now())
	return nil
}

func (v *view) workloadName() types.NamespacedName {
	return types.NamespacedName{Namespace: v.release.Namespace, Name: v.release.Spec.WorkloadRef.Name}
}

// observeSiblings lists the other releases that name the workload.
func (r *observer) observeSiblings(ctx context.Context, v *view) error {
	if len(v.release.Spec.Members) > 0 {
		return nil
	}
	var list v1alpha1.BatchReleaseList
	err := r.client.List(ctx, &list, client.InNamespace(v.release.Namespace),
		client.MatchingFields{indexWorkload: workloadKey(v.release.Spec.WorkloadRef)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list BatchReleases: %w", err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; other.Name != v.release.Name && other.DeletionTimestamp == nil {
			v.facts.Siblings = append(v.facts.Siblings, plan.Sibling{Name: other.Name, Created: other.CreationTimestamp.Time})
		}
	}
	return nil
}

// observeParts reads what the pods of the workload are in.
func (r *observer) observeParts(ctx context.Context, v *view) error {
	if v.workload == nil {
		r.watches.Forget(client.ObjectKeyFromObject(v.release))
		return nil
	}
	return v.parts().observe(ctx, r.kinds, v)
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

func (r *observer) observeGates(ctx context.Context, v *view) error {
	var list v1alpha1.GateList
	err := r.client.List(ctx, &list, client.InNamespace(v.release.Namespace),
		client.MatchingFields{indexRelease: string(v.release.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list Gates: %w", err)
	}
	for _, gate := range v.process.gates.List(pointers(list.Items)) {
		v.gates = append(v.gates, *gate)
	}
	return nil
}

// observeKept reads the names of the kept templates. The templates themselves are read when
// one is written back.
func (r *observer) observeKept(ctx context.Context, v *view) error {
	list := keptList()
	err := r.client.List(ctx, list, client.InNamespace(v.release.Namespace),
		client.MatchingFields{indexOwner: string(v.release.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list ControllerRevisions: %w", err)
	}
	for _, kept := range v.process.kept.List(pointers(list.Items)) {
		v.facts.Kept = append(v.facts.Kept, keptFrom(kept))
	}
	return nil
}

// keptList returns a list of kept templates that lacks the templates.
func keptList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kindKept.GroupVersion().WithKind(kindKept.Kind + "List"))
	return list
}
