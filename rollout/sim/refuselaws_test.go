package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// TrafficWrites are all of them.
var TrafficWrites = []Writes{Shares, Restores, SideServices}

// AllWrites are all that may go wrong with a write, but for Notes, which only routes depend on.
var AllWrites = []Writes{
	TakeOvers, HandBacks, NewSets, Growth, Shrinkage, OpenedGates, Templates, Annotations,
	Stamped, StampedLate, Resumed, Stripped,
}

// AllUnanswered are all writes that may not be answered.
var AllUnanswered = []Writes{
	TakeOvers + unanswered, HandBacks + unanswered, NewSets + unanswered, Growth + unanswered, Shrinkage + unanswered, OpenedGates + unanswered,
	Templates + unanswered, Annotations + unanswered,
}

// takesOver reports whether the API server takes a write that puts a workload back, and does not
// change it.
func takesOver(w *World) bool {
	refusing, _ := w.API.refusing()
	return !slices.Contains([]Writes{TakeOvers, Stamped, StampedLate, Resumed, Stripped}, refusing)
}

// judgeTold: where the process knows at the end of a pass that the write it would send is refused,
// the status says so; and the progress deadline runs. The law reads the status that the pass has
// seen or written: a new process may read from a lagging cache that the write was refused before,
// and not yet that the release has failed.
func judgeTold(x *pass, next plan.Plan) {
	w, status := x.world, x.stored
	switch arrived := w.Workload.Hold == nil && same(w.Workload.Template, status.UpdateRevision); {
	case !x.refusedEver, status.Attempt != x.refusedIn: // it was turned round since
		return
	case w.Workload.behind() > 0: // the native controller is waited for first
		return
	case arrived && status.RefusedWrite != nil: // nothing is left to fail
		return
	case x.partly && !allSettled(w): // the pods of what was done are waited for first
		return
	}
	told := status.RefusedWrite != nil
	stalled := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled) &&
		meta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionReady)
	if !told || !stalled {
		w.breach("a refusal is told", fmt.Sprintf("refused %t, stalled %t: %s", told, stalled, status.Message))
		return
	}
	if heldUp(x, status) && next.Needs == (plan.Needs{}) && checkerOf(w).looked > w.deadline()+time.Second {
		w.breach("the deadline runs though a write is refused", fmt.Sprintf("%s for %s", status.Phase, checkerOf(w).looked))
	}
}

// heldUp reports whether a refused write keeps a release from making progress that could make some.
// One that holds its workload enters its first step only once the pods are counted, though it puts
// back at once what somebody has changed. One that a quota leaves no room waits for that.
func heldUp(x *pass, status *v1alpha1.BatchReleaseStatus) bool {
	if found := x.facts.Preflight; found != nil && found.Fails() {
		return false // before a take-over room comes first, however long that takes
	}
	uncounted := slices.ContainsFunc(x.world.Sets, func(s Set) bool { return !s.Observed })
	back := x.process.heldBack(x.release.Generation, x.world.Now)
	if status.State == v1alpha1.StateWillNotFit || uncounted && !status.Entered() && x.world.Workload.Hold != nil && !back.takeOver {
		return false
	}
	moving := slices.Contains([]v1alpha1.Phase{v1alpha1.PhaseInitial, v1alpha1.PhaseRollingUpdate, v1alpha1.PhaseRollingBack}, status.Phase)
	return moving && !stopped(x) && !x.release.Deleting && status.CurrentStepState != v1alpha1.StepBlocking && status.CurrentStepState != v1alpha1.StepCompleted
}

// heldBack says which writes a process does not send now, as they were refused and their time has
// not come.
type heldBack struct {
	takeOver bool
	// grow is of more pods, or what they are in, and shrink of fewer. Where pods have places a write
	// may be both.
	grow, shrink bool
	// forwards says that pods of both sides stay, as routes may send requests to them.
	forwards bool
}

func (p *Process) heldBack(generation int64, now time.Time) heldBack {
	var back heldBack
	for _, r := range p.refusals {
		if r.Generation != generation || !r.Until.IsZero() && !now.Before(r.Until) {
			continue
		}
		switch kind, _, _ := strings.Cut(r.Write.Key, "/"); {
		case strings.HasPrefix(kind, "TakeOver"):
			back.takeOver = true
		case kind == "TryTemplate", strings.HasPrefix(kind, "TryTemplate:"), kind == "CopyTemplate": // nothing moves before it is known
			back.takeOver, back.grow, back.shrink = true, true, true
		case kind == "TakePods":
			back.shrink = true
		case kind == "AddPods", kind == "CreateReplicaSet":
			back.grow = true
		case kind == "DeletePods", kind == "SetUpdateStrategy", kind == "SetPartition":
			back.grow, back.shrink = true, true
		}
	}
	return back
}
