package rollout

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// satisfy observes what the plan needs to know.
func (r *observer) satisfy(ctx context.Context, v *view, needs plan.Needs) error {
	reads := []struct {
		what plan.Reads
		read func(context.Context, *view) error
	}{
		{plan.ReadRelease, r.readRelease},
		{plan.ReadWorkload, r.readWorkload},
		{plan.ReadCounts, r.readParts},
		{plan.ReadPods, r.pods.readPods},
		{plan.ReadGates, r.readGates},
		{plan.ReadKept, r.readKept},
		{plan.ReadFailing, r.readFailing},
		{plan.ReadTrouble, r.readTrouble},
		{plan.ReadTrain, r.readTrain},
		{plan.ReadMembers, r.readMembers},
	}
	for _, fact := range reads {
		if !needs.Has(fact.what) {
			continue
		}
		if err := fact.read(ctx, v); err != nil {
			return err
		}
		v.facts.Live |= fact.what
		if fact.what == plan.ReadWorkload && v.workload == nil {
			return nil // nothing of it is left to read
		}
	}
	if needs.Drift != nil {
		if err := r.readDrift(ctx, v, *needs.Drift); err != nil {
			return err
		}
	}
	if needs.Preflight != nil {
		if err := r.readPreflight(ctx, v, *needs.Preflight); err != nil {
			return err
		}
	}
	if needs.Resolve != nil {
		return r.resolve(ctx, v, *needs.Resolve)
	}
	return nil
}

// readRelease makes sure that the release is the one that the pass began with.
func (r *observer) readRelease(ctx context.Context, v *view) error {
	var release v1alpha1.BatchRelease
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(v.release), &release); err != nil {
		return fmt.Errorf("read BatchRelease: %w", gone(err))
	}
	if release.ResourceVersion != v.release.ResourceVersion || release.UID != v.release.UID {
		v.process.release.Saw(&release)
		return errOutdated
	}
	return nil
}

// gone turns a missing object into an outdated view: the cache will notice.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return errOutdated
	}
	return err
}

func (r *cluster) readWorkload(ctx context.Context, v *view) error {
	object := v.untypedWorkload()
	err := r.live.Get(ctx, v.workloadName(), object)
	if apierrors.IsNotFound(err) {
		v.process.workload.Forget(v.workloadName())
		v.workload = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", object.GetKind(), err)
	}
	another := v.workload != nil && object.GetUID() != v.workload.GetUID()
	if err := v.sawWhole(object); err != nil {
		return err
	}
	if another {
		return errOutdated
	}
	return nil
}

func (r *observer) readParts(ctx context.Context, v *view) error {
	return v.parts().read(ctx, r.kinds, v)
}

// selector returns the workload's; its pods, and the ReplicaSets of a Deployment, carry the labels
// that it selects.
func (r *cluster) selector(_ context.Context, v *view) (client.MatchingLabelsSelector, error) {
	selector, err := metav1.LabelSelectorAsSelector(v.workload.PodSelector())
	if err != nil {
		return client.MatchingLabelsSelector{}, fmt.Errorf("read selector of %s: %w", v.workload.Kind(), err)
	}
	return client.MatchingLabelsSelector{Selector: selector}, nil
}

func (r *observer) readGates(ctx context.Context, v *view) error {
	var list v1alpha1.GateList
	err := r.live.List(ctx, &list, client.InNamespace(v.release.Namespace),
		client.MatchingLabels{v1alpha1.ReleaseLabel: v.release.Name})
	if err != nil {
		return fmt.Errorf("read Gates: %w", err)
	}
	v.gates = slices.DeleteFunc(list.Items, func(g v1alpha1.Gate) bool { return g.Spec.ReleaseRef.UID != v.release.UID })
	v.process.gates.SawAll(pointers(v.gates))
	return nil
}

// readKept lists what is kept, without the templates.
func (r *observer) readKept(ctx context.Context, v *view) error {
	list := keptList()
	err := r.live.List(ctx, list, client.InNamespace(v.release.Namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: v.release.Name})
	if err != nil {
		return fmt.Errorf("read ControllerRevisions: %w", err)
	}
	ours := slices.DeleteFunc(list.Items, func(k metav1.PartialObjectMetadata) bool { return v1alpha1.KeptFor(&k) != v.release.UID })
	v.facts.Kept = nil
	for i := range ours {
		v.facts.Kept = append(v.facts.Kept, keptFrom(&ours[i]))
	}
	v.process.kept.SawAll(pointers(ours))
	return nil
}

// readFailing says in a sentence what is wrong with the updated pods.
func (r *observer) readFailing(ctx context.Context, v *view) error {
	text, err := v.parts().failing(ctx, r.kinds, v)
	v.facts.Failing = text
	return err
}

func podsOf(list *corev1.PodList, set types.UID) []corev1.Pod {
	var pods []corev1.Pod
	for i := range list.Items {
		if ownedBy(&list.Items[i], set) {
			pods = append(pods, list.Items[i])
		}
	}
	return pods
}

// wroteRelease returns the error of a write to the release. It returns errOutdated, and remembers
// the present release, if that is not the one that was decided on.
func (r *cluster) wroteRelease(ctx context.Context, v *view, outcome kube.Outcome) error {
	switch o := outcome.(type) {
	case kube.Written, kube.Unchanged:
		return nil
	case kube.Outdated, kube.Gone:
		var fresh v1alpha1.BatchRelease
		err := r.changed(ctx, v.release, &fresh, kube.Err(outcome))
		if fresh.UID != "" {
			v.process.release.Saw(&fresh)
		}
		return err
	case kube.Refused:
		return o.Err
	case kube.Failed:
		return o.Err
	}
	return nil
}

// wroteWorkload returns the error of a write to the workload, sent or as a dry run. It returns
// errOutdated if the workload is not the one that was decided on. The API server answers a patch
// that came too late like an invalid one.
func (r *cluster) wroteWorkload(ctx context.Context, v *view, outcome kube.Outcome) error {
	decided := v.workload
	switch o := outcome.(type) {
	case kube.Written, kube.Unchanged:
		return nil
	case kube.Outdated, kube.Gone:
		if err := r.readWorkload(ctx, v); err != nil {
			return err
		}
		if v.workload != nil && decided != nil && hold.SameDecided(v.workload, decided) {
			return kube.Err(outcome)
		}
		return errOutdated
	case kube.Refused:
		if !apierrors.IsInvalid(o.Err) {
			return o.Err
		}
		if err := r.readWorkload(ctx, v); err != nil {
			return err
		}
		if v.workload != nil && hold.SameDecided(v.workload, decided) {
			return o.Err
		}
		return errOutdated
	case kube.Failed:
		return o.Err
	}
	return nil
}

// wroteSet returns the error of a write to a ReplicaSet, as wroteWorkload does.
func (r *cluster) wroteSet(ctx context.Context, v *view, set *appsv1.ReplicaSet, outcome kube.Outcome) error {
	err := kube.Err(outcome)
	switch outcome.(type) {
	case kube.Written, kube.Unchanged, kube.Failed:
		return err
	case kube.Outdated, kube.Gone:
	case kube.Refused:
		if !apierrors.IsInvalid(err) {
			return err
		}
	}
	var fresh appsv1.ReplicaSet
	getErr := r.live.Get(ctx, client.ObjectKeyFromObject(set), &fresh)
	_, refused := outcome.(kube.Refused)
	switch {
	case getErr == nil && refused && sameSize(&fresh, set):
		return err
	case getErr == nil && sameVersion(&fresh, set):
		return err
	case getErr == nil:
		v.process.sets.Saw(&fresh)
	case apierrors.IsNotFound(getErr):
		v.process.sets.Forget(client.ObjectKeyFromObject(set))
	}
	return errOutdated
}

// changed reads an object again after the answer to a write that it has changed, or is gone. It
// returns errOutdated if that is so, and else the answer, which a webhook has passed on. The fresh
// object has no UID if there is none.
func (r *cluster) changed(ctx context.Context, decided, fresh client.Object, answer error) error {
	err := r.live.Get(ctx, client.ObjectKeyFromObject(decided), fresh)
	if err == nil && sameVersion(fresh, decided) {
		return answer
	}
	return errOutdated
}

// readTaken reads the object that has the name of one that could not be created. If there is none,
// it returns the answer to the creation, which a webhook has passed on.
func (r *cluster) readTaken(ctx context.Context, name client.ObjectKey, into client.Object, answer error) error {
	err := r.live.Get(ctx, name, into)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("create %s: %w", name.Name, answer)
	case err != nil:
		return fmt.Errorf("read %s: %w", name.Name, err)
	default:
		return nil
	}
}

// sameVersion reports whether an object is the one that was observed.
func sameVersion(now, observed client.Object) bool {
	return now.GetUID() == observed.GetUID() && now.GetResourceVersion() == observed.GetResourceVersion()
}

// sameSize reports whether nothing has changed that a resizing patch depends on.
func sameSize(a, b *appsv1.ReplicaSet) bool {
	return a.UID == b.UID && a.Generation == b.Generation &&
		a.Status.AvailableReplicas == b.Status.AvailableReplicas && a.Status.ReadyReplicas == b.Status.ReadyReplicas
}
