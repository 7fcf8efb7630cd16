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
	going := p.going(p.missing())
	moves := mover.Moves{GrowsFirst: true, Small: p.small(going), Unread: !m.Live, Order: p.order(going)}
	if len(going) > 0 {
		moves.Grow = []mover.Write{inplace.Replace{Pods: going, Why: mover.Forward}}
	}
	return moves
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
	switch {
	case p.wanted == 0:
		return 0
	case p.Target >= p.wanted:
		return length(p.others)
	default:
		return min(max(p.Target-p.comes(), 0), length(p.others))
	}
}

// going returns the old pods that may go now, the first first, and at most so many.
func (p plan) going(most int32) []inplace.Pod {
	room := p.room()
	var going []inplace.Pod
	for _, pod := range p.queue() {
		switch {
		case length(going) >= most, p.limited(pod) && !p.foreign(pod):
			return going
		case !pod.Available:
		case room <= 0:
			return going
		default:
			room--
		}
		going = append(going, pod)
	}
	return going
}

// room returns how many available pods may go: all beyond replicas - maxUnavailable. As in
// rollingUpdate of the native controller, misscheduled pods count like others (D6).
func (p plan) room() int32 { return p.available() - (p.slots - p.Unavailable) }

// foreign reports whether a pod is of a template that somebody else has given the DaemonSet.
func (p plan) foreign(pod inplace.Pod) bool { return p.Foreign != "" && pod.Revision == p.Foreign }

// steady reports whether a pod is of the stable version. In a rollback that is the one to leave.
func (p plan) steady(pod inplace.Pod) bool { return !p.Rollback && pod.Revision == p.Stable }

// limited reports whether a pod may not go now, nor any after it.
func (p plan) limited(pod inplace.Pod) bool {
	limit := p.Limits[pod.UID]
	return max(limit.Paused, limit.Proven) > 0
}

// queue returns the order in which old pods go. Pods that are not available go first, since that
// costs nothing, then foreign ones, and pods of the stable version last: other versions were rolled
// back, or never approved in full. If the task has a turn, pods without one wait, since their place
// is unknown. So do pods that share a node: the native controller deletes one of them (D7).
func (p plan) queue() []inplace.Pod {
	place := map[types.UID]int{}
	for i, uid := range p.Turn {
		place[uid] = i
	}
	queue := slices.DeleteFunc(slices.Clone(p.others), func(pod inplace.Pod) bool {
		_, has := place[pod.UID]
		return p.Turn != nil && !has && !p.foreign(pod) || !p.stays(pod)
	})
	slices.SortFunc(queue, func(a, b inplace.Pod) int {
		return cmp.Or(
			cmp.Compare(one(a.Available), one(b.Available)), cmp.Compare(one(p.foreign(b)), one(p.foreign(a))),
			cmp.Compare(one(p.steady(a)), one(p.steady(b))), cmp.Compare(place[a.UID], place[b.UID]),
			cmp.Compare(a.Node, b.Node), cmp.Compare(a.Name, b.Name),
		)
	})
	return queue
}

// small reports whether fewer pods go than are missing and may be unavailable: more of them may in
// a moment, when updated ones are available.
func (p plan) small(going []inplace.Pod) bool {
	return length(going) < min(p.missing(), p.Unavailable)
}
