package traffic

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// repairs writes the Services of sides as they were that somebody has changed, or whose user's has
// changed. It reports whether that is to be done first: a side that may lead elsewhere has no ready
// endpoint until then, and would lose its requests for that. Nothing waits where it can't be done.
func (n *next) repairs() bool {
	for _, side := range []struct {
		name SideName
		is   *Side
	}{{StableSide, &n.seen.Stable}, {CanarySide, &n.seen.Canary}} {
		if side.is.Made && side.is.Outdated && side.is.Revision != "" && side.is.Problem == nil {
			n.Repairs = append(n.Repairs, PointSide{side.name, side.is.Revision})
			n.repairing = n.repairing || !slices.Contains(n.goal.Unwritable, side.name)
		}
	}
	if n.repairing {
		n.waits.awaits(v1alpha1.AwaitedServices)
	}
	return n.repairing
}
