package rollout

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// view holds the snapshot of a release in one pass. Objects that were read live, or returned by a
// write, in this pass are marked as live.
type view struct {
	process *process

	// release carries the status of the plan; persisted is the one that is stored.
	release   *v1alpha1.BatchRelease
	persisted v1alpha1.BatchReleaseStatus
	// gone says that the release was deleted for good in this pass.
	gone  bool
	given string

	// workload is nil if it does not exist.
	workload workload.Workload
	// sets are the ReplicaSets of a Deployment, and pods those of another kind while it is held.
	sets     []*appsv1.ReplicaSet
	setsLive map[types.UID]bool
	pods     podsSeen
	gates    []v1alpha1.Gate
	scaled   time.Time
	// now is the time that the view is taken at.
	now time.Time
	// traffic are the objects that requests are shared by.
	traffic trafficSeen
	// wakes list when to observe again though no watch shows a change.
	wakes []plan.Wake
	// timed is that of the last plan of the pass.
	timed time.Duration
	// facts are passed on as they are.
	facts plan.Facts
}

// sawRelease takes over what a write to the release answered, but for who wrote which field, as in
// the cache.
func (v *view) sawRelease(release *v1alpha1.BatchRelease) {
	release.ManagedFields = nil
	v.process.release.Saw(release)
	v.persisted = *release.Status.DeepCopy()
	status := v.release.Status
	v.release = release.DeepCopy()
	v.release.Status = status
	v.facts.Live |= plan.ReadRelease
}

// sawSet takes over what a read of, or a write to, a ReplicaSet answered, but for who wrote which
// field, as in the cache.
func (v *view) sawSet(set *appsv1.ReplicaSet) {
	set.ManagedFields = nil
	v.process.sets.Saw(set)
	v.setsLive[set.UID] = true
	for i := range v.sets {
		if v.sets[i].UID == set.UID {
			v.sets[i] = set
			return
		}
	}
	v.sets = append(v.sets, set)
}

// set returns the ReplicaSet of a UID, nil if the view has none.
func (v *view) set(uid types.UID) *appsv1.ReplicaSet {
	for _, set := range v.sets {
		if set.UID == uid {
			return set
		}
	}
	return nil
}

// observation returns the view as the plan takes it.
func (v *view) observation(now time.Time) plan.Observation {
	v.now = now
	o := plan.Observation{
		Now:       now,
		Release:   v.release,
		Begun:     v.release.Status.Attempt != v.persisted.Attempt,
		Given:     v.given,
		Workload:  v.planned(),
		Gates:     v.gates,
		Facts:     v.facts,
		LastScale: v.scaled,
	}
	if v.process != nil {
		o.NativeSince = v.process.native.at
		o.PodLooks = v.process.podLooks
		o.Wrote = !v.process.statusWritten.IsZero()
		o.Refusals = v.process.refusals
		o.Watched = v.process.watches.Watched(&v.release.Status, now)
	}
	return o
}

// planned returns the workload as the plan takes it; nil if there is none.
func (v *view) planned() *plan.Workload {
	w := v.workload
	if w == nil {
		return nil
	}
	digest := digestOf(w.PodTemplate())
	planned := &plan.Workload{
		UID:                     w.GetUID(),
		Name:                    w.GetName(),
		Behind:                  max(w.GetGeneration()-w.Seen(), 0),
		Deleting:                w.GetDeletionTimestamp() != nil,
		Replicas:                v.parts().size(v),
		ProgressDeadlineSeconds: w.Deadline(),
		Digest:                  digest,
		Images:                  imagesOf(w.PodTemplate()),
		Revision:                v.parts().revision(v, digest),
		ChangedBy:               changedBy(w),
		Hold:                    hold.Of(w),
		Follower:                hold.Follower(w),
		Waiting:                 waiting(w),
		Guarded:                 w.GetAnnotations()[v1alpha1.GuardAnnotation] == v1alpha1.Guarded,
		Mover:                   v.parts().mover(v),
	}
	planned.MaxSurge, planned.MaxUnavailable = hold.Limits(w, planned.Hold)
	return planned
}

// longestImage limits the recorded length of an image, in bytes.
const longestImage = 300

// imagesOf returns the images of the containers of a template.
func imagesOf(template *corev1.PodTemplateSpec) []string {
	images := make([]string, 0, len(template.Spec.Containers))
	for i := range template.Spec.Containers {
		images = append(images, plain.UpTo(plain.Line(template.Spec.Containers[i].Image), longestImage))
	}
	return images
}

func ownedBy(obj metav1.Object, owner types.UID) bool {
	controller := metav1.GetControllerOf(obj)
	return controller != nil && controller.UID == owner
}

// number reads the number of a ControllerRevision's annotations; 0 if there is none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
