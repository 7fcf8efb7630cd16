package journeys

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// epoch is the time in which a workload is held with one template.
type epoch struct {
	// digest is empty until the workload gets the template, if it has no pods and the stable
	// template for that.
	digest string
	// revision is the one whose gates count, empty if none was seen; emptied, that there were no
	// pods when it was noted.
	revision string
	emptied  bool
	since    uint64
	rollback bool
	// had counts the pods of the template at the beginning.
	had int32
	// fell and rose say that spec.replicas did since.
	fell, rose bool
	// best is the most available pods of the template so far.
	best int32
	// passed counts the steps left behind.
	passed int
	// returns says that a jump back takes updated pods away.
	returns bool
	// version names the template. extra counts the pods that it may have on top, after a StatefulSet
	// was scaled up with its window open.
	version string
	extra   int32
}

// holds begins another epoch if the workload is held with another template than before, and reports
// whether it has got one. Without pods it has the stable template instead of its own: the gates
// that are passed then count for the template that it gets afterwards.
func (r *replay) holds(workload client.Object, digest string) bool {
	if forNoPods(workload) {
		if r.epoch == nil {
			r.epoch = &epoch{since: r.now.revision}
		}
		return false
	}
	switch {
	case r.epoch != nil && r.epoch.digest == digest:
		return false
	case r.epoch != nil && r.epoch.digest == "" && !r.stable[digest]:
		r.epoch.digest = digest
	default:
		r.epoch = &epoch{digest: digest, since: r.now.revision, rollback: r.stable[digest]}
	}
	return true
}

// leaveSteps moves on to the last step whose predecessors are done, with evidence at their gates.
func (r *replay) leaveSteps() {
	release := r.release()
	if release == nil || r.epoch == nil {
		return
	}
	revision, available := r.updated(release)
	if revision == "" {
		return
	}
	r.countsFor(revision)
	r.epoch.best = max(r.epoch.best, available)
	steps := r.steps(release)
	for r.epoch.passed < len(steps)-1 && r.stepDone(steps[r.epoch.passed]) && r.gatesPassed(revision, steps[r.epoch.passed]) {
		r.epoch.passed++
	}
}

// countsFor starts over where the workload has no pods, or has got the first ones, and the gates
// that were passed are of another revision.
func (r *replay) countsFor(revision string) {
	e := r.epoch
	switch {
	case e.revision == "" || e.revision == revision:
	case r.empty():
		r.epoch = &epoch{since: r.now.revision}
	case e.emptied:
		e.passed, e.best, e.since = 0, 0, r.now.revision
	}
	r.epoch.revision, r.epoch.emptied = revision, r.empty()
}

// empty reports whether the workload has the stable template because it was scaled to 0.
func (r *replay) empty() bool {
	workload := r.scene.workload(r.workload)
	return workload != nil && forNoPods(workload)
}

// updated returns the released revision, empty if it is not there yet, and the number of its
// available pods.
func (r *replay) updated(release *v1alpha1.BatchRelease) (revision string, available int32) {
	d := r.held()
	switch {
	case r.empty():
		return release.Status.UpdateRevision, 0
	case d == nil:
		return r.updatedInPlace()
	}
	if set := r.updateSet(d); set != nil {
		return hashOf(set), min(set.Status.AvailableReplicas, replicas(set))
	}
	return "", 0
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

// jumpedOver reports whether the record of a jump answers the gates of the current step that can be
// skipped.
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
