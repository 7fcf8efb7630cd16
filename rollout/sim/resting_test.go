package sim

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// judgeRest is I3 for what a pass leaves alone: once everybody has seen what somebody scaled the
// workload to, no more pods run the update revision than the steps allow of that number.
func (lawsOfSets) judgeRest(w *World, back heldBack) {
	d, status := &w.Workload, w.Release.Status
	update := w.setOf(status.UpdateRevision)
	if update == nil || d.Hold == nil || w.Release.Deleting || past(w).OutOfBand || back.takeOver || back.shrink || status.Rollback != nil || !allSettled(w) ||
		status.Attempt != past(w).Attempt {
		return
	}
	if _, back := steppedBack(w, status); back && !past(w).Sizes.Fell && (w.Release.Spec.Suspend || w.Release.unreadable(status)) {
		return // those that were on their way back stand with the release
	}
	limit := approvedPods(w, status, d.Replicas)
	if back.forwards || len(w.Sets) == 1 {
		return // requests may need them, or there is no other version to go back to
	}
	if update.Replicas > limit && !allNeeded(w, update) {
		w.breach("I3 updated pods come down to the share of what there is", fmt.Sprintf("%d updated pods, at most %d", update.Replicas, limit))
	}
}

// judgeFollowed: once everybody has come to rest there are as many pods as somebody has scaled a
// workload to that is held, or up to maxSurge more. No native controller follows spec.replicas
// there (T3), whatever the release waits for.
func (lawsOfSets) judgeFollowed(w *World, back heldBack) {
	d, status := &w.Workload, w.Release.Status
	under := status.Held != nil && status.Phase != v1alpha1.PhaseCompleted && (status.Attempt == past(w).Attempt || !status.Entered())
	if d.Hold == nil || !under || w.Release.Deleting || back.takeOver || back.shrink || back.grow || !allSettled(w) || !allAvailable(w) || updatedSet(w) == nil {
		return
	}
	surge, _ := d.bounds(d.Replicas)
	most := d.Replicas + surge
	// I1 allows one more (T1). It was added before a suspension was seen, or before somebody unpaused
	// the workload and asked for an earlier step, and stands now.
	stands := w.Release.Spec.Suspend || d.Hold.Change != (plan.ExternalChange{})
	if surge == 0 && stands && past(w).Sizes.unscaled() && updatedSet(w).Replicas == 1 && pinned(w.Sets, updatedSet(w)) {
		most++
	}
	if s := w.native().activeOrLatest(); s != nil && s.Replicas != d.Replicas {
		return // the native controller is about to give it all pods (T1)
	}
	if w.Traffic != nil && (w.Traffic.made() || w.Release.Spec.Strategy.Traffic != nil) {
		most = 2 * max(d.Replicas, total(w.Sets)) // what requests need is what the laws of traffic are about
	}
	if n := total(w.Sets); n < d.Replicas || n > most {
		w.breach("spec.replicas are followed while a workload is held", fmt.Sprintf("%d pods", n))
	}
}

func allAvailable(w *World) bool {
	for i := range w.Sets {
		if s := &w.Sets[i]; s.Pods.Available != s.Pods.total() || s.Pods.Going > 0 {
			return false
		}
	}
	return true
}

// judgeAnswers: a pass that has nothing left to do has answered a request for a rollback, whatever
// else is wrong with the release.
func judgeAnswers(s *State) {
	d, status := &s.Workload, s.Release.Status
	asked := s.Release.Annotations[v1alpha1.RollbackAnnotation]
	if asked == "" || status.Resolved == nil || d.Absent || d.behind() > 0 || s.Release.Deleting || s.Lag.any() || len(s.Process.refusals) > 0 {
		return
	}
	s.breach("a rollback request is answered", "rollback="+asked)
}

// judgeCompleted: a process that says that a release is completed knows of no pods that are to run
// anything else, and of some that run it if there are to be any.
func judgeCompleted(x *pass, status *v1alpha1.BatchReleaseStatus) {
	w := x.world
	if status.Phase != v1alpha1.PhaseCompleted || w.Release.Status.Phase == v1alpha1.PhaseCompleted || x.workload.Replicas == 0 || past(w).OutOfBand {
		return
	}
	byKind(&w.Workload).judgeCompleted(x, status)
}

func (lawsOfSets) judgeCompleted(x *pass, status *v1alpha1.BatchReleaseStatus) {
	w, updated := x.world, int32(0)
	for i := range x.sets {
		switch s := &x.sets[i]; {
		case same(s.Revision, status.UpdateRevision):
			updated += s.Replicas
		case s.Replicas > 0:
			w.breach("what the status says of pods is true", fmt.Sprintf("%s is completed, and %s has %d pods", status.UpdateRevision, s.Revision, s.Replicas))
		}
	}
	if unseen := x.workload.Hold == nil && x.workload.behind() > 0; updated == 0 && !unseen { // it was scaled up since it was handed back without pods
		w.breach("what the status says of pods is true", status.UpdateRevision+" is completed without a pod")
	}
}

// allSettled reports whether nobody but the process and people has anything left to do.
func allSettled(w *World) bool {
	if w.Lag.any() || w.Workload.Absent || w.Workload.behind() > 0 {
		return false
	}
	return byKind(&w.Workload).settled(w)
}

func (lawsOfSets) settled(w *World) bool {
	for i := range w.Sets {
		if !w.Sets[i].settled() {
			return false
		}
	}
	return true
}

// allNeeded reports whether all pods of a ReplicaSet are available, and none may go.
func allNeeded(w *World, s *Set) bool {
	_, unavailable := w.Workload.bounds(w.Workload.Replicas)
	return s.Status.Available >= s.Replicas && effective(w.Sets) <= w.Workload.Replicas-unavailable
}

// mistold says how the condition Available is not what the ReplicaSets say, once passes have
// nothing left to write, at rest as in a release; empty if it is.
func mistold(w *World) string {
	d := &w.Workload
	if d.Absent || w.Release.Purged || w.Release.Deleting {
		return ""
	}
	if d.Hold == nil && d.Status.Replicas > d.Replicas {
		return "" // a status does not say which of its pods are to go
	}
	available := byKind(d).counts(w, "").available
	replicas := d.kind.size(d, w.Places)
	_, unavailable := d.bounds(replicas)
	enough := available >= replicas-unavailable
	if d.Hold == nil && inPlaces(d) && enough != (serving(w.Places, replicas) >= replicas-unavailable) {
		return "" // the status that a workload has once it is handed back is late: a process that saw the pods may know better
	}
	if told := meta.IsStatusConditionTrue(w.Release.Status.Conditions, v1alpha1.ConditionAvailable); told != enough {
		return fmt.Sprintf("%d of %d are available, %d may be missing: Available is %t", available, d.Replicas, unavailable, told)
	}
	return cmp.Or(untoldUndone(w), miscounted(w))
}

// judgeNumbers: what a pass that has nothing left to write has told of the pods is true, unless it
// could not see them. The status that a workload has once it is handed back may be late, and of two
// pods on a node nobody knows yet which one stays.
func judgeNumbers(w *World) {
	if w.Lag.any() || w.Workload.Hold == nil && !allSettled(w) || doubled(w) {
		return
	}
	if how := mistold(w); how != "" {
		w.breach("what the status says of pods is true", how)
	}
}

// doubled reports whether a node has two pods that stand.
func doubled(w *World) bool {
	on := map[string]bool{}
	for i := range w.Places {
		p := &w.Places[i]
		if p.Node == "" || !p.stands() {
			continue
		}
		if on[p.Node] {
			return true
		}
		on[p.Node] = true
	}
	return false
}

// miscounted says how the numbers of a release in progress differ from the pods; empty if they
// don't.
func miscounted(w *World) string {
	d, status := &w.Workload, w.Release.Status
	under := status.Entered() && status.Phase != v1alpha1.PhaseCompleted && status.Phase != v1alpha1.PhaseFinalizing
	if !under || !byKind(d).has(w, status.UpdateRevision) || d.Hold == nil || d.Hold.Emptied || d.behind() > 0 {
		return ""
	}
	if !same(d.Template, status.UpdateRevision) && d.kind.name() != Deployment {
		return "" // somebody has changed it, and the status of the workload speaks of that template alone
	}
	told, is := counts{
		status.UpdatedReplicas, status.UpdatedReadyReplicas, status.UpdatedAvailableReplicas, status.ReadyReplicas, status.AvailableReplicas,
	}, byKind(d).counts(w, status.UpdateRevision)
	if told != is {
		return fmt.Sprintf("it tells of %+v, there are %+v", told, is)
	}
	return ""
}

// counts are the numbers that a release reports of its pods.
type counts struct {
	updated, updatedReady, updatedAvailable, ready, available int32
}

// counts returns those of the ReplicaSets: of the update revision, and of all.
func (lawsOfSets) counts(w *World, update string) counts {
	var is counts
	if s := w.setOf(update); s != nil {
		is.updated, is.updatedReady, is.updatedAvailable = s.Status.Current, s.Status.Ready, s.Status.Available
	}
	for i := range w.Sets {
		s := &w.Sets[i]
		is.ready += min(s.Status.Ready, s.Replicas)
		is.available += min(s.Status.Available, s.Replicas)
	}
	return is
}
