package journeys

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// heldInPlace returns the StatefulSet or DaemonSet while it is held, else nil.
func (r *replay) heldInPlace() client.Object {
	if workload := r.inPlace[r.workload]; workload != nil && held(workload) {
		return workload
	}
	return nil
}

// updatedInPlace returns the same as updated, for a StatefulSet or a DaemonSet.
func (r *replay) updatedInPlace() (revision string, available int32) {
	workload := r.heldInPlace()
	if workload == nil {
		return "", 0
	}
	if s, is := workload.(*appsv1.StatefulSet); is && r.epoch.emptied && s.Status.ObservedGeneration < s.Generation {
		return "", 0 // the newest revision may still be that of the stable template
	}
	for _, pod := range r.placed(workload) {
		if r.isUpdated(pod) && isReady(pod) {
			available++
		}
	}
	return r.newest(workload), available
}

// newest returns the hash of the newest revision in the native history of a workload; empty if
// there is none.
func (s *scene) newest(workload client.Object) string {
	number, hash := int64(0), ""
	for _, revision := range s.history {
		if owns(workload, revision) && revision.Revision > number {
			number, hash = revision.Revision, strings.TrimPrefix(revision.Name, workload.GetName()+"-")
		}
	}
	return hash
}

func (r *replay) isUpdated(pod *corev1.Pod) bool {
	return versionOf(&pod.Spec) == r.epoch.version
}

// versionOf names what pods run: an image and, where there is one, a copy of a ConfigMap.
func versionOf(pod *corev1.PodSpec) string {
	version := pod.Containers[0].Image
	for _, from := range pod.Containers[0].EnvFrom {
		version += " " + from.ConfigMapRef.Name
	}
	return version
}

// placed returns the pods in the places that a workload asks for, except those that are going away.
func (s *scene) placed(workload client.Object) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range s.podsOwned(workload) {
		if alive(pod) && hasPlace(workload, pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// hasPlace reports whether a pod is in a place that the workload asks for: of a StatefulSet, one of
// its ordinals.
func hasPlace(workload client.Object, pod *corev1.Pod) bool {
	s, is := workload.(*appsv1.StatefulSet)
	if !is {
		return true
	}
	n := index(s, pod)
	return n >= 0 && n < wantedPods(s)
}

// index returns the ordinal of a pod less the first.
func index(s *appsv1.StatefulSet, pod *corev1.Pod) int32 {
	ordinal, err := strconv.Atoi(strings.TrimPrefix(pod.Name, s.Name+"-"))
	if err != nil {
		panic(err)
	}
	if s.Spec.Ordinals != nil {
		ordinal -= int(s.Spec.Ordinals.Start)
	}
	return int32(ordinal)
}

// seeInPlace judges a change of a StatefulSet or a DaemonSet.
func (r *replay) seeInPlace(before *scene, workload client.Object) {
	if workload.GetName() != r.workload || r.now.gone {
		return
	}
	r.sizes = append(r.sizes, size{r.now.revision, wantedPods(workload)})
	digest := digestOf(templateOf(workload))
	if !held(workload) {
		r.stable[digest], r.epoch = true, nil
		return
	}
	if r.holds(workload, digest) {
		r.epoch.version, r.epoch.had = versionOf(&templateOf(workload).Spec), 0
		for _, pod := range r.podsOwned(workload) {
			if alive(pod) && r.isUpdated(pod) {
				r.epoch.had++
			}
		}
	} else {
		r.noteSize(before.inPlace[r.workload], workload)
	}
	r.scaled = append(r.scaled, fmt.Sprintf("revision %d: %s", r.now.revision, describe(workload)))
	r.judgeShut(workload)
	r.judgeWindow(before.inPlace[r.workload], workload)
}

// noteSize notes how a workload was scaled since the scene before.
func (r *replay) noteSize(before, workload client.Object) {
	was, wanted := wantedPods(before), wantedPods(workload)
	r.epoch.fell = r.epoch.fell || wanted < was
	r.epoch.rose = r.epoch.rose || wanted > was
	if s, is := workload.(*appsv1.StatefulSet); is && wanted > was && partition(s) < wanted {
		r.epoch.extra += wanted - max(was, partition(s))
	}
}

func describe(workload client.Object) string {
	switch o := workload.(type) {
	case *appsv1.StatefulSet:
		return fmt.Sprintf("partition %d, %d replicas, generation %d of %d", partition(o), wantedPods(o), o.Status.ObservedGeneration, o.Generation)
	case *appsv1.DaemonSet:
		return fmt.Sprintf("%s, %d scheduled", o.Spec.UpdateStrategy.Type, wantedPods(o))
	default:
		return ""
	}
}

// seePodInPlace judges that a pod is made, or goes.
func (r *replay) seePodInPlace(before *scene, pod *corev1.Pod) {
	workload := r.heldInPlace()
	if workload == nil || !owns(workload, pod) {
		return
	}
	ready := r.readyInPlace(workload)
	if r.leastReady < 0 || ready < r.leastReady {
		r.leastReady = ready
	}
	had := before.pods[pod.UID]
	r.noteLoss(workload, had, pod)
	switch {
	case had == nil:
		r.scaled = append(r.scaled, fmt.Sprintf("revision %d: %s is made, %s", r.now.revision, pod.Name, pod.Spec.Containers[0].Image))
		r.judgeBirth(workload, pod)
	case had.DeletionTimestamp == nil && pod.DeletionTimestamp != nil:
		r.scaled = append(r.scaled, fmt.Sprintf("revision %d: %s goes, %s, by us: %t", r.now.revision, pod.Name,
			pod.Spec.Containers[0].Image, r.now.rests != nil))
		r.judgeGoing(workload, had, ready)
	}
}

// readyInPlace counts the pods that serve in the places that a workload asks for.
func (s *scene) readyInPlace(workload client.Object) int32 {
	ready := int32(0)
	for _, pod := range s.placed(workload) {
		if isReady(pod) {
			ready++
		}
	}
	return ready
}

// seeGate judges how a workload stands when a step begins to wait for its gates, and notes what
// pods there are.
func (r *replay) seeGate(before, release *v1alpha1.BatchRelease) {
	workload := r.heldInPlace()
	if workload != nil && before != nil && before.Status.Attempt != release.Status.Attempt {
		r.jumpBack(r.updatedIn(workload), &release.Status)
	}
	blocking := release.Status.CurrentStepState == v1alpha1.StepBlocking
	if workload == nil || !blocking || before == nil || before.Status.CurrentStepState == v1alpha1.StepBlocking {
		return
	}
	updated, all := 0, r.placed(workload)
	for _, pod := range all {
		if r.isUpdated(pod) {
			updated++
		}
	}
	r.stops = append(r.stops, fmt.Sprintf("%d of %d", updated, len(all)))
	if s, is := workload.(*appsv1.StatefulSet); is && partition(s) != inplace.Held {
		r.breaks(closedAtRest, "partition %d while the step waits for its gates", partition(s))
	}
}

// seeHistory judges that a revision of the native history is gone: its controller keeps as many as
// the workload says.
func (r *replay) seeHistory(revision *appsv1.ControllerRevision) {
	workload := r.inPlace[r.workload]
	if !r.now.gone || !native(revision) || workload == nil || !owns(workload, revision) {
		return
	}
	if left := len(r.history); left < int(historyLimit(workload)) {
		r.breaks(historyStays, "%s is deleted, and %d are left", revision.Name, left)
	}
}

func historyLimit(workload client.Object) int32 {
	switch o := workload.(type) {
	case *appsv1.StatefulSet:
		return ptr.Deref(o.Spec.RevisionHistoryLimit, 10)
	case *appsv1.DaemonSet:
		return ptr.Deref(o.Spec.RevisionHistoryLimit, 10)
	default:
		return 0
	}
}
