package rollout

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
)

func trainOf(obj client.Object) []string {
	if train := obj.(*v1alpha1.BatchRelease).Spec.Train; train != "" {
		return []string{train}
	}
	return nil
}

// observeTrain reads the train of a member, or the members of a train.
func (r *observer) observeTrain(ctx context.Context, v *view) error {
	if len(v.release.Spec.Members) > 0 {
		return r.listMembers(ctx, v, r.client, client.MatchingFields{indexTrain: v.release.Name}, client.UnsafeDisableDeepCopy)
	}
	return r.getTrain(ctx, v, r.client, client.UnsafeDisableDeepCopy)
}

// readTrain makes sure that the train of a member is the one that was observed, or reads it. A
// train of many members is large, and mostly unchanged.
func (r *observer) readTrain(ctx context.Context, v *view) error {
	if known := v.facts.Train; known != nil {
		now := &metav1.PartialObjectMetadata{}
		now.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BatchRelease"))
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(known), now); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read train: %w", err)
		}
		if sameVersion(now, known) {
			return nil
		}
	}
	return r.getTrain(ctx, v, r.live)
}

func (*observer) getTrain(ctx context.Context, v *view, from client.Reader, opts ...client.GetOption) error {
	v.facts.Train = nil
	if v.release.Spec.Train == "" {
		return nil
	}
	var train v1alpha1.BatchRelease
	switch err := from.Get(ctx, types.NamespacedName{Namespace: v.release.Namespace, Name: v.release.Spec.Train}, &train, opts...); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get train: %w", err)
	}
	v.facts.Train = &train
	return nil
}

// readMembers lists the members of a train live.
func (r *observer) readMembers(ctx context.Context, v *view) error {
	return r.listMembers(ctx, v, r.live, client.MatchingLabels{v1alpha1.TrainLabel: v.release.Name})
}

func (*observer) listMembers(ctx context.Context, v *view, from client.Reader, opts ...client.ListOption) error {
	var list v1alpha1.BatchReleaseList
	if err := from.List(ctx, &list, append(opts, client.InNamespace(v.release.Namespace))...); err != nil {
		return fmt.Errorf("list members: %w", err)
	}
	before := v.process.members
	v.process.members = make(map[string]*givenDigest, len(list.Items))
	v.facts.Members = nil
	for i := range list.Items {
		member := &list.Items[i]
		if member.Spec.Train != v.release.Name {
			continue
		}
		known := before[member.Name]
		if known == nil {
			known = &givenDigest{}
		}
		v.process.members[member.Name] = known
		given, err := known.of(member)
		if err != nil {
			return fmt.Errorf("member %s: %w", member.Name, err)
		}
		v.facts.Members = append(v.facts.Members, plan.Member{Release: member, Given: given})
	}
	return nil
}

// retryMember has a member that failed go on, if it still is as decided on.
func (r *objectWriter) retryMember(ctx context.Context, v *view, a plan.RetryMember) error {
	for _, m := range v.facts.Members {
		if m.Release.Name != a.Name || m.Release.ResourceVersion != a.Version {
			continue
		}
		retried := annotated(m.Release, plan.Annotate{Set: map[string]string{v1alpha1.RetryAnnotation: "true"}})
		if err := kube.Err(kube.Patch(ctx, r.client, m.Release, retried)); err != nil {
			return fmt.Errorf("retry member %s: %w", a.Name, err)
		}
		return nil
	}
	return errOutdated
}

// trainEvents queues the train of a member that has changed, and the members of a train for which
// something has.
func trainEvents(cached client.Reader) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(q queue, namespace, name string) {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}})
	}
	all := func(ctx context.Context, obj client.Object, q queue) {
		release := obj.(*v1alpha1.BatchRelease)
		if release.Spec.Train != "" {
			add(q, release.Namespace, release.Spec.Train)
		}
		if len(release.Spec.Members) == 0 {
			return
		}
		var members v1alpha1.BatchReleaseList
		err := cached.List(ctx, &members, client.InNamespace(release.Namespace), client.MatchingFields{indexTrain: release.Name}, client.UnsafeDisableDeepCopy)
		if err != nil { // only possible before the cache has started, when everything is queued anyway
			return
		}
		for i := range members.Items {
			add(q, release.Namespace, members.Items[i].Name)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { all(ctx, e.Object, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { all(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			was, is := e.ObjectOld.(*v1alpha1.BatchRelease), e.ObjectNew.(*v1alpha1.BatchRelease)
			for _, train := range []string{was.Spec.Train, is.Spec.Train} {
				if train != "" {
					add(q, is.Namespace, train)
				}
			}
			for _, name := range plan.RunChanges(&was.Status, &is.Status) {
				add(q, is.Namespace, name)
			}
		},
	}
}
