package journeys

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// Laws of StatefulSets and DaemonSets alone. I2, I3 and I5 are those of every kind.
const (
	heldShut     law = "I8, in place"                  // a workload that is held is open to its native controller
	closedAtRest law = "I8, at a gate"                 // a StatefulSet that waits for gates makes updated pods
	historyStays law = "the rule that history is kept" // a ControllerRevision of the native controller is deleted
)

// judgeShut checks I8: a held StatefulSet has the partition that its hold notes, and a held
// DaemonSet has OnDelete.
func (r *replay) judgeShut(workload client.Object) {
	switch o := workload.(type) {
	case *appsv1.StatefulSet:
		if p := partition(o); p < openTo(o) {
			r.breaks(heldShut, "partition %d, and the hold notes %d", p, openTo(o))
		}
	case *appsv1.DaemonSet:
		if o.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
			r.breaks(heldShut, "update strategy %s while it is held", o.Spec.UpdateStrategy.Type)
		}
	}
}

// openTo returns the partition that a StatefulSet is to have, as its hold notes it.
func openTo(s *appsv1.StatefulSet) int32 {
	held := hold.Of(s)
	if held == nil || held.Window == "" {
		return inplace.Held
	}
	window, err := strconv.Atoi(held.Window)
	if err != nil {
		panic(err)
	}
	return int32(window)
}

// judgeWindow checks I3: a StatefulSet is opened only while pods are to be updated.
func (r *replay) judgeWindow(before, workload client.Object) {
	s, is := workload.(*appsv1.StatefulSet)
	was, existed := before.(*appsv1.StatefulSet)
	if !is || !existed || !held(was) || partition(s) >= partition(was) {
		return
	}
	updated := r.updatedIn(s)
	if allowed := r.allowed(); updated >= allowed {
		r.breaks(withinStep, "the partition goes from %d to %d with %d updated pods of %d allowed", partition(was), partition(s), updated, allowed)
	}
}

// updatedIn counts the updated pods in the places that a workload asks for.
func (r *replay) updatedIn(workload client.Object) int32 {
	updated := int32(0)
	for _, pod := range r.placed(workload) {
		if r.isUpdated(pod) {
			updated++
		}
	}
	return updated
}

// allowed returns the number of pods that may run the template: that of the last step before which
// all gates have evidence.
func (r *replay) allowed() int32 {
	release := r.release()
	if release == nil {
		return math.MaxInt32 // it is handed back, or goes on without: see the journeys of releases that are deleted
	}
	r.leaveSteps()
	return max(target(r.steps(release)[r.epoch.passed], r.most()), r.epoch.had) + r.epoch.extra
}

// judgeBirth checks I3: a StatefulSet gets no more updated pods than approved. All pods of a
// DaemonSet are updated, so it is judged by the pods that go.
func (r *replay) judgeBirth(workload client.Object, pod *corev1.Pod) {
	if _, is := workload.(*appsv1.StatefulSet); !is || !r.isUpdated(pod) {
		return
	}
	if updated, allowed := r.updatedIn(workload), r.allowed(); updated > allowed {
		r.breaks(withinStep, "%s makes %d updated pods, step %d allows %d", pod.Name, updated, r.epoch.passed+1, allowed)
	}
}

// judgeGoing checks the pods that still serve when a running pod goes.
func (r *replay) judgeGoing(workload client.Object, pod *corev1.Pod, ready int32) {
	if !r.isOurDoing(workload, pod) {
		return
	}
	rests := cmp.Or(r.now.rests, r.acted) // the native controller acts on the last write that opened its window
	unseen, unseenOld := r.unseenLosses(rests)
	due := r.least()
	if rests != nil {
		due = slices.Min(since(r.sizes, rests.workloads.of(workload)))
	}
	floor := due - r.unavailable(workload, due)
	if ready += unseen; isReady(pod) && ready < floor {
		r.breaks(enoughRun, "%s goes, %d pods serve, at least %d are due", pod.Name, ready, floor)
	}
	if r.isUpdated(pod) {
		if !r.epoch.fell && r.epoch.extra == 0 && !r.returned() {
			r.breaks(neverFewer, "%s is updated, and goes", pod.Name)
		}
		return
	}
	if _, is := workload.(*appsv1.DaemonSet); !is {
		return
	}
	others := int32(len(r.placed(workload))) - r.updatedIn(workload) + unseenOld // which come back updated
	if updated, allowed := wantedPods(workload)-others, r.allowed(); updated > allowed {
		r.breaks(withinStep, "%s goes, which makes %d updated pods, step %d allows %d", pod.Name, updated, r.epoch.passed+1, allowed)
	}
}

// loss is a pod that stopped serving, or an old one that is gone or about to go, and not by our
// doing.
type loss struct {
	revision    uint64
	place       string
	served, old bool
}

// noteLoss notes such a loss. One that served is made up for once a pod serves in its place.
func (r *replay) noteLoss(workload client.Object, had, pod *corev1.Pod) {
	place := placeName(workload, pod)
	if alive(pod) && isReady(pod) && !r.now.gone {
		for i := range r.losses {
			r.losses[i].served = r.losses[i].served && r.losses[i].place != place
		}
	}
	if had == nil || !alive(had) || !hasPlace(workload, pod) || r.isOurDoing(workload, had) {
		return
	}
	stays := alive(pod) && !r.now.gone
	lost := loss{r.now.revision, place, isReady(had) && !(stays && isReady(pod)), !stays && !r.isUpdated(pod)}
	if lost.served || lost.old {
		r.losses = append(r.losses, lost)
	}
}

// placeName returns the ordinal of a pod, or its node.
func placeName(workload client.Object, pod *corev1.Pod) string {
	if _, is := workload.(*appsv1.DaemonSet); is {
		return pod.Spec.NodeName
	}
	return pod.Name
}

// unseenLosses counts the pods that served, and the old ones, that were lost after the controller
// had read the pods that it decided on: it can't have heeded them.
func (r *replay) unseenLosses(rests *basis) (served, old int32) {
	if rests == nil {
		return 0, 0
	}
	for _, lost := range r.losses {
		if lost.revision > rests.pods && lost.served {
			served++
		}
		if lost.revision > rests.pods && lost.old {
			old++
		}
	}
	return served, old
}

// isOurDoing reports whether a pod goes because Sluice deletes it, or because the native controller
// does in a window.
func (r *replay) isOurDoing(workload client.Object, pod *corev1.Pod) bool {
	s, is := workload.(*appsv1.StatefulSet)
	return r.now.rests != nil || is && hasPlace(s, pod) && index(s, pod) >= partition(s) && !r.isUpdated(pod)
}

// unavailable returns maxUnavailable of the step, else of the release, else of what the workload
// gets back.
func (r *replay) unavailable(workload client.Object, replicas int32) int32 {
	limit, up := intstr.FromInt32(1), false
	held := hold.Of(workload)
	var own *intstr.IntOrString
	switch workload.(type) {
	case *appsv1.StatefulSet:
		var strategy appsv1.StatefulSetUpdateStrategy
		mustDecode(held.Strategy, &strategy)
		if strategy.RollingUpdate != nil {
			own = strategy.RollingUpdate.MaxUnavailable
		}
	case *appsv1.DaemonSet:
		var strategy appsv1.DaemonSetUpdateStrategy
		mustDecode(held.Strategy, &strategy)
		if up = true; strategy.RollingUpdate != nil {
			own = strategy.RollingUpdate.MaxUnavailable
		}
	}
	if release := r.release(); release != nil {
		own = cmp.Or(r.steps(release)[r.epoch.passed].MaxUnavailable, release.Spec.Strategy.MaxUnavailable, own)
	}
	if own != nil {
		limit = *own
	}
	return max(percentOf(limit, replicas, up), 1)
}
