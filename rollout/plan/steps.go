package plan

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// steps are those of the rollback in a rollback, else those of the release. What is being handed back has passed them.
func (l *look) steps() []v1alpha1.Step {
	if l.handingBack {
		return allAtOnce
	}
	return l.Release.Spec.Steps(l.isRollback())
}

// allAtOnce is one step of all pods without a gate.
var allAtOnce = []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}

// stepIndex is the current step, at most the last: steps may have been taken out in mid-release.
func (l *look) stepIndex() int32 {
	return max(min(l.record.CurrentStepIndex, int32(len(l.steps()))-1), 0)
}

func (l *look) lastStep() bool { return l.stepIndex() == int32(len(l.steps()))-1 }

// gates are the policies that the current step waits for.
func (l *look) gates() []v1alpha1.GatePolicy {
	return l.gatesAt(l.stepIndex())
}

// gatesAt are the policies that a step waits for.
func (l *look) gatesAt(step int32) []v1alpha1.GatePolicy {
	if l.handingBack {
		return nil
	}
	return l.Release.Spec.Gates(l.isRollback(), int(step))
}

// share is a step's replicas: a number of pods or, if of is not 0, so many of each of pods: of 100 for a percentage.
type share struct{ value, of int64 }

// percent is what a percentage is of.
const percent = 100

// parseShare reads "30%" or 3.
func parseShare(replicas intstr.IntOrString) (share, error) {
	if replicas.Type == intstr.Int {
		return share{value: int64(replicas.IntVal)}, checkRange(int64(replicas.IntVal), 0, 1<<31-1, "pods")
	}
	digits, isPercent := strings.CutSuffix(replicas.StrVal, "%")
	value, err := strconv.ParseInt(digits, 10, 32)
	if !isPercent || err != nil {
		return share{}, fmt.Errorf("%q is neither a number of pods nor a percentage such as 30%%", replicas.StrVal)
	}
	return share{value: value, of: percent}, checkRange(value, 0, percent, "percent")
}

func checkRange(value, low, high int64, unit string) error {
	if value < low || value > high {
		return fmt.Errorf("%d %s is not within %d to %d", value, unit, low, high)
	}
	return nil
}

// all reports whether the share is every pod.
func (s share) all() bool { return s.of > 0 && s.value == s.of }

// entered is the target when a step is entered: a percentage is rounded up. Short of 100% at least one
// old pod stays, whatever the share says and however few pods there are: a native controller sets a lone
// version to all that somebody scales the workload to, and the new one must not be that.
func (s share) entered(replicas int32) int32 {
	if s.all() {
		return replicas
	}
	wanted := s.value
	if s.of > 0 {
		wanted = (s.value*int64(replicas) + s.of - 1) / s.of
	}
	return int32(max(min(wanted, int64(replicas)-1), 0))
}

// most is how many pods may run the revision in a step of this share, if they do already.
func (s share) most(replicas int32) int32 {
	if s.all() {
		return replicas
	}
	return max(replicas-1, 0)
}

// rescaled is the target after spec.replicas went from before to replicas. Scaling alone must
// not upgrade a pod past the share, so a percentage is rounded down here; more replicas never
// lower the target and fewer never raise it.
func (s share) rescaled(target, before, replicas int32) int32 {
	if s.all() {
		return replicas
	}
	bound := s.most(replicas)
	wanted := s.value
	if s.of > 0 {
		wanted = s.value * int64(replicas) / s.of
	}
	if replicas > before {
		return min(max(int32(wanted), target), bound)
	}
	least := min(target, 1)
	return min(max(int32(min(wanted, int64(target))), least), target, bound)
}

// bounds are how far the pods may stray from spec.replicas in the current step.
func (l *look) bounds() mover.Bounds { return l.boundsAt(l.stepIndex()) }

// boundsAt are those in a step.
func (l *look) boundsAt(step int32) mover.Bounds {
	w, strategy := l.Workload, l.Release.Spec.Strategy
	unavailable := cmp.Or(strategy.MaxUnavailable, w.MaxUnavailable)
	if steps := l.steps(); int(step) < len(steps) {
		unavailable = cmp.Or(steps[step].MaxUnavailable, unavailable)
	}
	return w.Mover.Bounds(cmp.Or(strategy.MaxSurge, w.MaxSurge), unavailable, w.Replicas)
}

// widest are the bounds of the step that lets most pods be unavailable.
func (l *look) widest() mover.Bounds {
	widest := l.boundsAt(0)
	for step := range l.steps() {
		if b := l.boundsAt(int32(step)); b.Unavailable > widest.Unavailable {
			widest = b
		}
	}
	return widest
}
