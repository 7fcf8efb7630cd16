package journeys

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
)

// findings are the results of a journal for a workload.
type findings struct {
	// broken are the laws that were broken, in the order in which they were.
	broken []breach
	// leastReady is the least number of pods that served while the workload was held, and
	// mostPods the most that its ReplicaSets asked for.
	leastReady, mostPods int32
	// mostSeen is the most pods that there were at once while the workload was held, except those
	// that were going away.
	mostSeen int32
	// mostPresent counts those that were going away too.
	mostPresent int32
	// scalings counts the changes of a ReplicaSet's spec.replicas while the workload was held,
	// by the field manager that made them.
	scalings map[string]int
	// flaps counts the ReplicaSets that grew after they had shrunk, or the other way round.
	flaps int
	// scaled tells of each change of a ReplicaSet's spec.replicas and of a Deployment's, for a test
	// that fails.
	scaled []string
	// stops are the pods found when a step began to wait for its gates: "1 of 10".
	stops []string
}

// replay goes through a journal in the order of the cluster's revisions and holds the laws
// against each of them.
type replay struct {
	findings
	*scene
	workload string
	now      entry
	// epoch is nil while the workload is not held.
	epoch *epoch
	// stable are the digests of the templates that ran while the workload was not held.
	stable map[string]bool
	// sizes are spec.replicas of the workload, the newest last.
	sizes []size
	// seen is the revision up to which the controller had seen Deployments when it decided on its
	// last write.
	seen uint64
	// lost has the same for writes without an answer; nil without one.
	lost revisions
	// acted is the basis of the last write to the workload or its pods; nil before the first.
	acted *basis
	// available has the available pods of each ReplicaSet, the newest last.
	available map[types.UID][]size
	// opened is the revision at which a gate was made.
	opened map[types.UID]uint64
	// grows says which way a ReplicaSet's size changed last while the workload was held.
	grows map[types.UID]bool
	// losses are of pods of a workload that is updated in place.
	losses []loss
	// left is how many available pods the last write that took pods away was sure to leave, if that
	// is less than were due; nil if there was none. The pods go later, and more may be due by then.
	left *int32
}

// size is spec.replicas of the workload from a revision on.
type size struct {
	since    uint64
	replicas int32
}

// examine replays what happened to a workload.
func examine(entries []entry, lost revisions, workload string) findings {
	ordered := slices.Clone(entries)
	slices.SortStableFunc(ordered, func(a, b entry) int { return cmp.Compare(a.revision, b.revision) })
	r := &replay{
		findings: findings{leastReady: -1, scalings: map[string]int{}},
		scene:    newScene(), workload: workload, lost: lost,
		stable: map[string]bool{}, available: map[types.UID][]size{}, opened: map[types.UID]uint64{}, grows: map[types.UID]bool{},
	}
	for _, e := range ordered {
		r.see(e)
	}
	return r.findings
}

// breach is a broken law, with the revision of the cluster.
type breach struct {
	law      law
	revision uint64
	how      string
}

func (b breach) String() string {
	return fmt.Sprintf("revision %d breaks %s: %s", b.revision, b.law, b.how)
}

func (r *replay) breaks(broken law, format string, args ...any) {
	r.broken = append(r.broken, breach{broken, r.now.revision, fmt.Sprintf(format, args...)})
}

// see takes one entry over and judges what it did.
func (r *replay) see(e entry) {
	before := r.scene.clone()
	r.now = e
	r.apply(e)
	if workload := r.scene.workload(r.workload); e.rests != nil && workload != nil {
		r.seen = e.rests.workloads.of(workload)
		if e.object.GetUID() == workload.GetUID() || owns(workload, e.object) {
			r.acted = e.rests
		}
	}
	switch o := e.object.(type) {
	case *appsv1.Deployment:
		r.seeDeployment(before.updateSet, o)
	case *appsv1.ReplicaSet:
		r.available[o.UID] = append(r.available[o.UID], size{e.revision, o.Status.AvailableReplicas})
		r.seeSet(before, o)
	case *unstructured.Unstructured:
		r.seeRoute(before, o)
		r.judgePast()
	case *v1alpha1.Gate:
		if r.opened[o.UID] == 0 {
			r.opened[o.UID] = e.revision
		}
	case *v1alpha1.BatchRelease:
		r.seeRelease(before.releases[o.Name], o)
		r.seeGate(before.releases[o.Name], o)
	case *corev1.Pod:
		r.seePod(before)
		r.seePodInPlace(before, o)
	case *appsv1.StatefulSet, *appsv1.DaemonSet:
		r.seeInPlace(before, o)
	case *appsv1.ControllerRevision:
		r.seeHistory(o)
	}
	r.leaveSteps()
}

// held returns the Deployment while it is held, else nil.
func (r *replay) held() *appsv1.Deployment {
	if d := r.deployments[r.workload]; d != nil && held(d) {
		return d
	}
	return nil
}

// forNoPods reports whether a workload has the stable template because it was scaled to 0.
func forNoPods(workload client.Object) bool {
	kept := hold.Of(workload)
	return kept != nil && kept.Emptied
}

func (r *replay) seeDeployment(updateSet func(*appsv1.Deployment) *appsv1.ReplicaSet, d *appsv1.Deployment) {
	if d.Name != r.workload {
		return
	}
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	if n := len(r.sizes); n == 0 || r.sizes[n-1].replicas != wanted {
		r.tell("Deployment", wanted, d)
	}
	r.sizes = append(r.sizes, size{r.now.revision, wanted})
	digest := digestOf(&d.Spec.Template)
	if !held(d) {
		r.stable[digest], r.epoch, r.left = true, nil, nil
		return
	}
	if r.holds(d, digest) {
		r.epoch.had = replicas(updateSet(d))
	} else if n := len(r.sizes); n > 1 {
		r.epoch.fell = r.epoch.fell || wanted < r.sizes[n-2].replicas
		r.epoch.rose = r.epoch.rose || wanted > r.sizes[n-2].replicas
	}
	r.judgeHold(d)
}

// seeSet judges a change of a ReplicaSet's replicas.
func (r *replay) seeSet(before *scene, set *appsv1.ReplicaSet) {
	d := r.held()
	if d == nil || !owns(d, set) {
		return
	}
	r.mostPods = max(r.mostPods, r.total(d))
	r.judgePast()
	had := before.sets[set.UID]
	if replicas(had) == replicas(set) || r.now.gone {
		return
	}
	writer := managerOf(set, "f:spec", "f:replicas")
	r.scalings[writer]++
	r.noteDirection(set, replicas(set) > replicas(had))
	r.tell(set.Name+" by "+writer, replicas(set), d)
	if writer != v1alpha1.OwnerRollout {
		if ptr.Deref(d.Spec.Replicas, 1) == 0 && replicas(set) < replicas(had) {
			r.left = new(int32(0)) // a pod that was on its way goes by this, too, even if the workload is scaled up meanwhile
		}
		return
	}
	switch {
	case r.now.rests != nil:
	case r.lost != nil:
		r.seen = min(r.seen, r.lost.of(d))
	default:
		r.breaks(toldApart, "%s is scaled as %s by nobody that is known", set.Name, writer)
	}
	r.judgeScale(before, had, set)
}

func (r *replay) noteDirection(set *appsv1.ReplicaSet, grows bool) {
	if before, known := r.grows[set.UID]; known && before != grows {
		r.flaps++
	}
	r.grows[set.UID] = grows
}

func (r *replay) tell(what string, size int32, d *appsv1.Deployment) {
	r.scaled = append(r.scaled, fmt.Sprintf("revision %d: %s has %d replicas; %d pods serve, %d are assured",
		r.now.revision, what, size, r.readyPods(d), r.assured(d)))
}

// seeRelease notes what pods there are when a step begins to wait for its gates.
func (r *replay) seeRelease(before, release *v1alpha1.BatchRelease) {
	d := r.held()
	if d != nil && before != nil && before.Status.Attempt != release.Status.Attempt {
		r.jumpBack(replicas(r.updateSet(d)), &release.Status)
	}
	blocking := release.Status.CurrentStepState == v1alpha1.StepBlocking
	if d == nil || !blocking || before == nil || before.Status.CurrentStepState == v1alpha1.StepBlocking {
		return
	}
	updated, all := 0, 0
	for _, set := range r.setsOf(d) {
		n := r.podsIn(set)
		all += n
		if set == r.updateSet(d) {
			updated = n
		}
	}
	r.stops = append(r.stops, fmt.Sprintf("%d of %d", updated, all))
}

// jumpBack starts over at an earlier step, with the updated pods there are unless they are to go.
func (r *replay) jumpBack(updated int32, status *v1alpha1.BatchReleaseStatus) {
	jump := status.Jump
	if jump == nil || jump.Attempt != status.Attempt || jump.To >= jump.From {
		return
	}
	e := r.epoch
	e.passed, e.since, e.best, e.returns = int(jump.To), r.now.revision, 0, jump.RemovePods
	if !jump.RemovePods {
		e.had = updated
	}
}

// seePod judges that a pod stopped serving.
func (r *replay) seePod(before *scene) {
	d := r.held()
	if d == nil {
		return
	}
	seen, present := 0, int32(0)
	for _, set := range r.setsOf(d) {
		seen += r.podsIn(set)
		for _, pod := range r.pods {
			if owns(set, pod) {
				present++
			}
		}
	}
	r.mostPresent = max(r.mostPresent, present)
	r.mostSeen = max(r.mostSeen, int32(seen))
	ready := r.readyPods(d)
	if r.leastReady < 0 || ready < r.leastReady {
		r.leastReady = ready
	}
	if ready < before.readyPods(d) {
		r.judgeLoss(ready)
	}
}

// release returns the one that holds the workload.
func (r *replay) release() *v1alpha1.BatchRelease {
	var found *v1alpha1.BatchRelease
	for _, release := range r.releases {
		if release.Spec.WorkloadRef.Name == r.workload && (found == nil || release.Status.Held != nil) {
			found = release
		}
	}
	return found
}

func (r *replay) steps(release *v1alpha1.BatchRelease) []v1alpha1.Step {
	switch {
	case !r.epoch.rollback:
		return release.Spec.Strategy.Steps
	case release.Spec.Rollback != nil:
		return release.Spec.Rollback.Steps
	default:
		return []v1alpha1.Step{step(1), step("100%")}
	}
}

// most returns the largest spec.replicas of the workload that the last decision can have seen, and
// least the smallest.
func (r *replay) most() int32  { return slices.Max(since(r.sizes, r.seen)) }
func (r *replay) least() int32 { return slices.Min(since(r.sizes, r.seen)) }

// since returns the sizes that a decision can have seen which rests on a revision: the one of then,
// and all later ones.
func since(sizes []size, seen uint64) []int32 {
	var all []int32
	for _, size := range slices.Backward(sizes) {
		all = append(all, size.replicas)
		if size.since <= seen {
			break
		}
	}
	return all
}
