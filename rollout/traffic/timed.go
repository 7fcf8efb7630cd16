package traffic

import "time"

// mostTimed bounds Timed since the release last made progress. Endpoints and routes have to be as
// they are for ReadyFor, before pods come and after, and pods stay for DrainFor: once, and again
// where somebody changes a route. Without a bound, a route that is changed again and again, or pods
// that are ready by turns, would keep a release from its deadline for ever.
func (g *Goal) mostTimed() time.Duration { return 2 * (g.DrainFor + 2*g.ReadyFor) }

// lacksTime notes how much is left of a time of the goal. Where the status of routes does not tell,
// that is once it is waited for no more.
func (w *waits) lacksTime(told bool, been, enough time.Duration) {
	switch late := w.seen.Unchanged - w.goal.Patience; {
	case told:
		w.timed = max(w.timed, enough-been)
	case w.goal.Way.bounded() && late >= 0:
		w.timed = max(w.timed, enough-late)
	}
}

// timeLeft returns how much is left of a time of the goal, if the decision waits for nothing else.
func timeLeft(n *next) time.Duration {
	w := &n.waits
	stuck := n.Problem != nil && !n.goal.Way.bounded()
	if stuck || w.untimed || n.shares.strays || len(n.Writes) > 0 {
		return 0
	}
	return min(w.timed, max(n.goal.mostTimed()-n.goal.Timed, 0))
}
