package daemonset

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// Move implements mover.Mover: old pods are deleted, and the native controller makes updated ones
// in their places.
func (m Mover) Move(t mover.Task) mover.Moves {
	if !m.Listed || !m.released(t.Digest) {
		return mover.Moves{}
	}
	p := plan{m.tally(t.Digest), t}
	going := p.going()
	return mover.Moves{
		GrowsFirst: true, Small: p.small(going), Unread: !m.Live, Order: p.order(going),
		Grow: inplace.Replacing(going, mover.Forward, false),
	}
}

// Keep implements mover.Mover: updated pods stay, since nothing would bring an old one back, and so
// do old ones.
func (Mover) Keep(mover.Task) mover.Moves { return mover.Moves{} }

// plan holds the wanted pods, and the present ones.
type plan struct {
	tally
	mover.Task
}

// missing returns how many old pods are still to go: at the end all that there are. Where no node
// is to have a pod, none of those that are misscheduled goes for us: there is nothing to update,
// and it would not come back.
func (p plan) missing() int32 {
	others := int32(len(p.others))
	switch {
	case p.wanted == 0:
		return 0
	case p.Target >= p.wanted:
		return others
	default:
		return min(max(p.Target-p.comes(), 0), others)
	}
}

// going returns the places of the old pods that may go now, the first first. As in rollingUpdate of
// the native controller, misscheduled pods count like others in the room (D6).
func (p plan) going() []inplace.Place {
	queue := p.queue()
	if i := slices.IndexFunc(queue, p.limited); i >= 0 {
		queue = queue[:i]
	}
	room := p.available() - (p.slots - p.Unavailable)
	return inplace.Choose(queue, inplace.Rule{Most: p.missing(), Room: room, InRow: true})
}

// foreign reports whether a pod is of a template that somebody else has given the DaemonSet.
func (p plan) foreign(at inplace.Place) bool { return p.Foreign != "" && at.Pod.Revision == p.Foreign }

// steady reports whether a pod is of the stable version. In a rollback that is the one to leave.
func (p plan) steady(at inplace.Place) bool { return !p.Rollback && at.Pod.Revision == p.Stable }

// limited reports whether a pod may not go now, nor any after it.
func (p plan) limited(at inplace.Place) bool {
	limit := p.Limits[at.Pod.UID]
	return max(limit.Paused, limit.Proven) > 0 && !p.foreign(at)
}

// queue returns the order in which old pods go. Pods that are not available go first, since that
// costs nothing, then foreign ones, and pods of the stable version last: other versions were rolled
// back, or never approved in full. If the task has a turn, pods without one wait, since their place
// is unknown. So do pods that share a node: the native controller deletes one of them (D7).
func (p plan) queue() []inplace.Place {
	turn := map[types.UID]int{}
	for i, uid := range p.Turn {
		turn[uid] = i
	}
	queue := slices.DeleteFunc(slices.Clone(p.others), func(at inplace.Place) bool {
		_, has := turn[at.Pod.UID]
		return p.Turn != nil && !has && !p.foreign(at) || at.Crowded
	})
	slices.SortFunc(queue, func(a, b inplace.Place) int {
		return cmp.Or(
			falseFirst(a.Pod.Available, b.Pod.Available), falseFirst(p.foreign(b), p.foreign(a)),
			falseFirst(p.steady(a), p.steady(b)), cmp.Compare(turn[a.Pod.UID], turn[b.Pod.UID]),
			cmp.Compare(a.Pod.Node, b.Pod.Node), cmp.Compare(a.Pod.Name, b.Pod.Name),
		)
	})
	return queue
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// small reports whether fewer pods go than are missing and may be unavailable: more of them may in
// a moment, when updated ones are available.
func (p plan) small(going []inplace.Place) bool {
	return int32(len(going)) < min(p.missing(), p.Unavailable)
}
