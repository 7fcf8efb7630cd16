package sim

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Sizes are what spec.replicas have been since a step was entered. As the API says, the step's
// share of another number is rounded down, more replicas take no updated pod away, and the one
// updated pod of a small share stays while there is another. The result depends on the numbers in
// between, and on which of them a process has seen.
type Sizes struct {
	Entered, Smallest, Largest int32
	// Fell says that one of them was less than the one before.
	Fell bool
	// Kept is how many updated pods there were when the step was entered that stay: those that there
	// were before the attempt, and all of them if the step was jumped back to without them.
	Kept int32
	// Spoilt says that the step could not be read at some time: what it was before is then scaled
	// along, which may be a pod more than a percentage rounded down, and one fewer: it may have been
	// rounded down before.
	Spoilt bool
}

func enteredAt(replicas int32) Sizes {
	return Sizes{Entered: replicas, Smallest: replicas, Largest: replicas}
}

// become notes that spec.replicas go from one number to another.
func (z *Sizes) become(before, replicas int32) {
	z.Smallest, z.Largest = min(z.Smallest, replicas), max(z.Largest, replicas)
	z.Fell = z.Fell || replicas < before
}

// unscaled reports whether spec.replicas have stayed what they were when the step was entered.
func (z *Sizes) unscaled() bool { return z.Smallest == z.Largest }

// most returns the most that a step's share of replicas may be.
func (z *Sizes) most(step v1alpha1.Step, replicas int32) int32 {
	was := max(Target(step, z.Entered), min(z.Kept, z.Entered-1))
	switch {
	case step.Replicas.StrVal == "100%":
		return replicas
	case replicas == z.Entered:
		return was
	}
	stays := min(max(was, roundedDown(step, z.Largest)), 1)
	if replicas > z.Entered {
		stays = max(stays, was, min(z.Kept, z.Entered)) // there is room now for the one that was to make it
	}
	if z.Spoilt {
		stays = max(stays, proportion(was, z.Entered, replicas))
	}
	return max(min(max(roundedDown(step, replicas), stays), replicas-1), 0)
}

// least returns the least that it may be, where there were as many pods.
func (z *Sizes) least(step v1alpha1.Step, replicas int32) int32 {
	was := Target(step, z.Entered)
	if !z.Fell && replicas == z.Entered || step.Replicas.StrVal == "100%" {
		return Target(step, replicas)
	}
	stays := was
	switch {
	case z.Fell && z.Smallest <= 1:
		stays = 0
	case z.Fell:
		stays = min(was, 1)
	}
	down := roundedDown(step, replicas)
	if z.Spoilt {
		down = min(down, proportion(was, z.Entered, replicas)) - 1
	}
	return max(min(max(down, stays), replicas-1), 0)
}

// roundedDown returns a share of replicas when a percentage is rounded down.
func roundedDown(step v1alpha1.Step, replicas int32) int32 {
	down, _ := intstr.GetScaledValueFromIntOrPercent(&step.Replicas, int(replicas), false)
	return int32(down)
}
