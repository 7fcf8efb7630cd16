package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// share is a step's replicas: a number of pods or, if of is not 0, value pods of each of pods. A
// percentage is of 100.
type share struct{ value, of int64 }

// percent is the whole of a percentage.
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

// entered returns the target when a step is entered: a percentage is rounded up, so 30% of 4 pods
// is 2. Short of 100% at least one old pod stays: the native controller scales a lone version to
// all of spec.replicas, and that must not be the new one.
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

// most returns how many pods may run the revision in a step of this share, if they do already.
func (s share) most(replicas int32) int32 {
	if s.all() {
		return replicas
	}
	return max(replicas-1, 0)
}

// rescaled returns the target after spec.replicas went from before to replicas. Scaling alone must
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

// among reports whether a match is among others.
func among(matches []v1alpha1.RequestMatch, match v1alpha1.RequestMatch) bool {
	return slices.ContainsFunc(matches, func(m v1alpha1.RequestMatch) bool { return equality.Semantic.DeepEqual(m, match) })
}

// more reports whether a share is more than another one of so many pods.
func (s share) more(than share, replicas int32) bool {
	switch {
	case s.all() || than.all():
		return s.all() && !than.all()
	case s.of == than.of:
		return s.value > than.value
	default:
		return s.entered(replicas) > than.entered(replicas)
	}
}
