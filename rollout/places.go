package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/internal/podwatch"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// places implements parts as far as they are the same for all pods with places of their own.
type places struct{ w workload.Workload }

func (places) read(ctx context.Context, r *kindShell, v *view) error {
	return r.pods.readPlaces(ctx, v)
}

func (p places) owns(_ *view, pod *corev1.Pod) bool { return ownedBy(pod, p.w.GetUID()) }

// template returns the template that the native controller keeps in a ControllerRevision; nil if
// there is none.
func (p places) template(ctx context.Context, r *kindShell, _ *view, revision string) (json.RawMessage, error) {
	kept, err := kube.Recorded(ctx, r.live, p.w, p.w.RevisionName(revision))
	if err != nil || kept == nil {
		return nil, err
	}
	return podtemplate.OfHistory(kept.Data.Raw)
}

func (places) templates(*view) []*corev1.PodTemplateSpec { return nil }

// podsSeen are the pods of a workload whose pods have places of their own.
type podsSeen struct {
	// listed says that they are known at all, and live that they were read live in this pass. They are
	// fresh if they are instead those with which their watch began.
	listed, live, fresh bool
	pods                []*corev1.Pod
	// lost are the nodes of a DaemonSet's pods on which nothing can become available.
	lost map[string]bool
}

// errUnseen says that the watch of the pods has just begun, and is to see them in a moment.
var errUnseen = errors.New("the watch of the pods has not seen them yet")

// observePods takes the pods from their watch while the workload is held. It begins once the native
// controller has seen the workload, as nothing moves before: the pods that it begins with are as
// good as a list. If it does not work they are read live.
func (r *podReader) observePods(ctx context.Context, v *view) error {
	release := client.ObjectKeyFromObject(v.release)
	if !v.inProgress() {
		r.watches.Forget(release)
		return nil
	}
	if v.workload.Seen() < v.workload.GetGeneration() && !r.watches.Watched(release) {
		return nil
	}
	selector, err := r.selector(ctx, v)
	if err != nil {
		return err
	}
	pods, seen, err := r.watches.Of(release, podwatch.Pods{Namespace: v.release.Namespace, Selector: selector.String()})
	switch {
	case err != nil:
		return err
	case seen == podwatch.Begun:
		return errUnseen
	case seen == podwatch.Late:
		return r.readPlaces(ctx, v)
	case seen == podwatch.Fresh:
		v.sawPods(ownPods(v, pods))
		v.pods.fresh = true
		return nil
	default:
		v.pods = podsSeen{listed: true, pods: ownPods(v, v.process.pods.List(pods))}
		return nil
	}
}

// inProgress reports whether the workload is held for the release, or has just been handed back.
func (v *view) inProgress() bool {
	if v.workload == nil {
		return false
	}
	held, phase := hold.Of(v.workload), v.release.Status.Phase
	return held != nil && held.Release == v.release.Name || phase == v1alpha1.PhaseFinalizing
}

// readPlaces lists the pods live.
func (r *podReader) readPlaces(ctx context.Context, v *view) error {
	selector, err := r.selector(ctx, v)
	if err != nil {
		return err
	}
	var list corev1.PodList
	if err := r.live.List(ctx, &list, client.InNamespace(v.release.Namespace), selector); err != nil {
		return fmt.Errorf("read pods: %w", err)
	}
	v.sawPods(ownPods(v, pointers(list.Items)))
	return nil
}

// sawPods takes over the pods of a list that was just read.
func (v *view) sawPods(pods []*corev1.Pod) {
	v.pods = podsSeen{listed: true, live: true, pods: pods}
	v.process.pods.SawAll(pods)
	v.facts.Live |= plan.ReadCounts
}

func ownPods(v *view, pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !ownedBy(pod, v.workload.GetUID()) })
}

// placed returns a pod as a mover takes it, with the revision of its label.
func placed(pod *corev1.Pod, revision string, minReadySeconds int32, now time.Time) inplace.Pod {
	p := inplace.Pod{
		Name: pod.Name, UID: pod.UID, Version: pod.ResourceVersion, Node: nodeOf(pod), Revision: revision,
		Terminating: !active(pod),
	}
	if ready := podCondition(pod, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		p.Ready = true
		since := ready.LastTransitionTime
		p.Available = minReadySeconds == 0 ||
			!since.IsZero() && !since.Add(time.Duration(minReadySeconds)*time.Second).After(now)
	}
	return p
}

// podDeletes is how many pods are deleted at once.
const podDeletes = 16

// replace deletes each pod that is still the one that was decided on, until the workload or the
// release changes, or another pod is lost: an answer may take long.
func (r *podWriter) replace(ctx context.Context, v *view, a inplace.Replace) error {
	var deletes errgroup.Group
	deletes.SetLimit(podDeletes)
	gone := make([]bool, len(a.Pods))
	others := slices.DeleteFunc(slices.Clone(v.pods.pods), func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(a.Pods, func(p inplace.Pod) bool { return p.UID == pod.UID })
	})
	for i := range a.Pods {
		deletes.Go(func() (err error) {
			if err := r.overtaken(ctx, v); err != nil {
				return err
			}
			if r.lost(v, others) {
				return errOutdated
			}
			gone[i], err = r.deletePod(ctx, v.release.Namespace, &a.Pods[i])
			return err
		})
	}
	err := deletes.Wait()
	outdated := false
	for i, pod := range a.Pods {
		outdated = outdated || !gone[i]
		if gone[i] {
			v.process.pods.Deleted(client.ObjectKey{Namespace: v.release.Namespace, Name: pod.Name})
			v.pods.pods = going(v.pods.pods, pod.UID, r.clock.Now())
		}
	}
	v.process.scaled = r.clock.Now()
	switch {
	case err != nil:
		return err
	case outdated:
		return errOutdated
	default:
		return nil
	}
}

// going returns pods of which one is being deleted: its place is there until another takes it.
func going(pods []*corev1.Pod, uid types.UID, now time.Time) []*corev1.Pod {
	pods = slices.Clone(pods)
	for i, pod := range pods {
		if pod.UID == uid {
			pods[i] = pod.DeepCopy()
			gone := metav1.NewTime(now.Add(time.Duration(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 0)) * time.Second))
			pods[i].DeletionTimestamp = &gone
		}
	}
	return pods
}

// deletePod reports whether the pod is being deleted: false if it is not what it was.
func (r *podWriter) deletePod(ctx context.Context, namespace string, pod *inplace.Pod) (bool, error) {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name}}
	outcome := kube.OutcomeOf(r.client.Delete(ctx, object, client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.Version}))
	switch outcome.(type) {
	case kube.Written, kube.Unchanged:
		return true, nil
	case kube.Outdated, kube.Gone:
		switch same, err := r.samePod(ctx, namespace, pod); {
		case err != nil:
			return false, err
		case !same:
			return false, nil
		}
	case kube.Refused, kube.Failed:
	}
	return false, fmt.Errorf("delete pod %s: %w", pod.Name, kube.Err(outcome))
}

// samePod reports whether the API server still has a pod as it was observed. It lists by name, as
// the controller's role lets it list pods and not get one.
func (r *podWriter) samePod(ctx context.Context, namespace string, pod *inplace.Pod) (bool, error) {
	list := metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := r.live.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{metav1.ObjectNameField: pod.Name}); err != nil {
		return false, fmt.Errorf("read pod %s: %w", pod.Name, err)
	}
	return slices.ContainsFunc(list.Items, func(now metav1.PartialObjectMetadata) bool {
		return now.UID == pod.UID && now.ResourceVersion == pod.Version
	}), nil
}

// keptName returns the name under which a template is kept already; empty if it is not. The name of
// a version is the native controller's, which it says only of the template that it has observed.
func keptName(kept []plan.Kept, digest string) string {
	i := slices.IndexFunc(kept, func(k plan.Kept) bool { return k.Digest == digest && digest != "" })
	if i < 0 {
		return ""
	}
	return kept[i].Revision
}
