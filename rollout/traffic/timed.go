package traffic

import "time"

// mostTimed bounds Timed since the release last made progress. Endpoints and routes have to be as
// they are for ReadyFor, before pods come and after, and pods stay for DrainFor: once, and again
// where somebody changes a route. Without a bound, a route that is changed again and again, or pods
// that are ready by turns, would keep a release from its deadline for ever.
func (g *Goal) mostTimed() time.Duration { return 2 * (g.DrainFor + 2*g.ReadyFor) }

// lacksTime notes how much is left of a time of the goal. Where the status of routes does not tell,
// that is once it is waited for no more.
func (n *next) lacksTime(told bool, been, enough time.Duration) {
	switch late := n.seen.Unchanged - n.goal.Patience; {
	case told:
		n.Timed = max(n.Timed, enough-been)
	case n.goal.Way.bounded() && late >= 0:
		n.Timed = max(n.Timed, enough-late)
	}
}

// onlyTime leaves nothing of Timed where something else is waited for, too.
func (n *next) onlyTime() {
	stuck := n.Problem != nil && !n.goal.Way.bounded()
	if stuck || n.untimed || n.strays || n.repairing || len(n.Writes) > 0 {
		n.Timed = 0
	}
	n.Timed = min(n.Timed, max(n.goal.mostTimed()-n.goal.Timed, 0))
}
