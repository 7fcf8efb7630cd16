package journeys

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
)

// findings are what a journal tells of a workload.
type findings struct {
	// broken are the laws that were broken, in the order in which they were.
	broken []breach
	// leastReady is the least number of pods that served while the workload was held, and
	// mostPods the most that its ReplicaSets asked for.
	leastReady, mostPods int32
	// mostSeen is the most pods that there were at once while the workload was held, except those that were going away.
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
	// seen is the revision up to which the controller had seen Deployments when it decided on its last write.
	seen uint64
	// lost is the same for a write of which it is not known what it made; nil if there is none.
	lost *uint64
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

// epoch is the time in which a workload is held with one template.
type epoch struct {
	digest   string
	since    uint64
	rollback bool
	// had is how many pods ran the template when it began.
	had int32
	// fell and rose say that spec.replicas did since.
	fell, rose bool
	// best is the most available pods of the template so far.
	best int32
	// passed is how many steps were left behind.
	passed int
	// returns says that a jump back takes updated pods away.
	returns bool
	// image is that of the template, and extra how many pods may have it because somebody scaled a StatefulSet up while it
	// was open for others.
	image string
	extra int32
}

// examine replays what happened to a workload.
func examine(entries []entry, lost *uint64, workload string) findings {
	ordered := slices.Clone(entries)
	slices.SortStableFunc(ordered, func(a, b entry) int { return cmp.Compare(a.revision, b.revision) })
	r := &replay{
		findings: findings{leastReady: -1, scalings: map[string]int{}},
		scene:    newScene(), workload: workload, lost: lost,
		stable: map[string]bool{}, opened: map[types.UID]uint64{}, grows: map[types.UID]bool{},
	}
	for _, e := range ordered {
		r.see(e)
	}
	return r.findings
}

// breach is what broke a law, and at which revision of the cluster.
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
	if e.rests != nil {
		r.seen = e.rests.workloads
	}
	r.apply(e)
	switch o := e.object.(type) {
	case *appsv1.Deployment:
		r.seeDeployment(before.updateSet, o)
	case *appsv1.ReplicaSet:
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

// held is the Deployment while it is held, else nil.
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
	if forNoPods(d) { // it has the stable template for as long as it has no pods
		digest = ""
		if r.epoch != nil {
			digest = r.epoch.digest
		}
	}
	if r.epoch == nil || r.epoch.digest != digest {
		r.epoch = &epoch{digest: digest, since: r.now.revision, rollback: r.stable[digest], had: replicas(updateSet(d))}
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
		return
	}
	switch {
	case r.now.rests != nil:
	case r.lost != nil:
		r.seen = min(r.seen, *r.lost)
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

// leaveSteps moves on to the last step whose predecessors are done, with evidence at their gates.
func (r *replay) leaveSteps() {
	revision, available := r.updated()
	release := r.release()
	if revision == "" || release == nil {
		return
	}
	r.epoch.best = max(r.epoch.best, available)
	steps := r.steps(release)
	for r.epoch.passed < len(steps)-1 && r.stepDone(steps[r.epoch.passed]) && r.gatesPassed(revision, steps[r.epoch.passed]) {
		r.epoch.passed++
	}
}

// updated are the revision that is released, empty if it is not there yet, and how many of its pods are available.
func (r *replay) updated() (revision string, available int32) {
	d := r.held()
	if d == nil {
		return r.updatedInPlace()
	}
	if set := r.updateSet(d); set != nil && !forNoPods(d) {
		return hashOf(set), min(set.Status.AvailableReplicas, replicas(set))
	}
	return "", 0
}

// release is the one that holds the workload.
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

// stepDone takes the lower of the two ways in which a share of spec.replicas may be rounded.
func (r *replay) stepDone(step v1alpha1.Step) bool {
	least := target(step, r.least())
	if step.Replicas.Type != intstr.Int && least > 0 && least < r.least() {
		least--
	}
	return r.epoch.best >= least
}

// gatesPassed reports whether each gate of the current step has evidence from this epoch.
func (r *replay) gatesPassed(revision string, step v1alpha1.Step) bool {
	policies := step.Gates
	if len(policies) == 0 && !r.epoch.rollback {
		policies = []v1alpha1.GatePolicy{manual()}
	}
	for i, policy := range policies {
		if policy.Type() != v1alpha1.GateNone && !r.hasEvidence(revision, i) && !(policy.CanSkip() && r.jumpedOver()) {
			return false
		}
	}
	return true
}

// jumpedOver reports whether the record of a jump answers the gates of the current step that can be skipped.
func (r *replay) jumpedOver() bool {
	status := &r.release().Status
	jump := status.Jump
	return jump != nil && jump.Attempt == status.Attempt && int(jump.From) <= r.epoch.passed && r.epoch.passed < int(jump.To)
}

func (r *replay) hasEvidence(revision string, index int) bool {
	for _, gate := range r.gates {
		if gate.Spec.Revision == revision && int(gate.Spec.Step) == r.epoch.passed && int(gate.Spec.Index) == index &&
			r.opened[gate.UID] > r.epoch.since &&
			gate.Status.Decision == v1alpha1.DecisionPassed && len(gate.Status.Evidence) > 0 {
			return true
		}
	}
	return false
}

// most and least are spec.replicas of the workload as far as the last decision can have seen it.
func (r *replay) most() int32  { return slices.Max(r.seenSizes()) }
func (r *replay) least() int32 { return slices.Min(r.seenSizes()) }

func (r *replay) seenSizes() []int32 {
	var seen []int32
	for _, size := range slices.Backward(r.sizes) {
		seen = append(seen, size.replicas)
		if size.since <= r.seen {
			break
		}
	}
	return seen
}
