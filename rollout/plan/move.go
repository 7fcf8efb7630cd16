package plan

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// ledger is the arithmetic of one pass: what the sets have, and are to have.
type ledger struct {
	*pass
	fence
	update *Set
	old    []*Set
	want   map[*Set]int32
	// limits are how far old sets may shrink in the order of their pods.
	limits map[*Set]limit
	// back says that updated pods go back to the version before.
	back bool
}

func (p *pass) ledger() *ledger {
	l := &ledger{pass: p, fence: p.fence(), update: p.updateSet(), old: p.oldSets(), want: map[*Set]int32{}}
	if p.status.RollbackTo == "" { // of what is not approved pods go first, of what is stable they go last
		slices.SortStableFunc(l.old, func(a, b *Set) int { return cmp.Compare(p.steady(a), p.steady(b)) })
	}
	for _, set := range l.sets() {
		l.want[set] = set.Replicas
	}
	return l
}

// steady is 2 for the set of the stable revision, 1 for those that there were before it, which ran under the native controller
// or were released, and 0 for others: they may be left of a release that nobody has approved in full.
func (p *pass) steady(s *Set) int {
	if s.Revision == p.status.StableRevision {
		return 2
	}
	i := slices.IndexFunc(p.Sets, func(o Set) bool { return o.Revision == p.status.StableRevision })
	if i >= 0 && older(s, &p.Sets[i]) {
		return 1
	}
	return 0
}

// sets are all of them, that of the new revision first.
func (l *ledger) sets() []*Set {
	if l.update == nil {
		return l.old
	}
	return append([]*Set{l.update}, l.old...)
}

func (l *ledger) total() int32 {
	return sum(l.sets(), func(s *Set) int32 { return l.want[s] })
}

func (l *ledger) oldTotal() int32 {
	return sum(l.old, func(s *Set) int32 { return l.want[s] })
}

// available is how many pods are available if the worst go: of each set those first that are not ready,
// as the ReplicaSet controller has it. Of the ready ones it takes whom it likes; with minReadySeconds that
// may be an available one while there are others.
func (l *ledger) available() int32 {
	return sum(l.sets(), func(s *Set) int32 { return max(s.Available-max(s.Ready-l.want[s], 0), 0) })
}

// idle is how many pods of a set can go without an available one among them.
func (l *ledger) idle(set *Set) int32 {
	if set.Available == 0 {
		return l.want[set]
	}
	return max(l.want[set]-set.Ready, 0)
}

// room is how many pods may be added: replicas + maxSurge - all (maxTotalPods in
// NewRSNewReplicas of the native controller).
func (l *ledger) room() int32 { return max(l.Workload.Replicas+l.surge-l.total(), 0) }

// spare is how many available pods may go: available - (replicas - maxUnavailable).
func (l *ledger) spare() int32 { return max(l.available()-l.least(), 0) }

func (l *ledger) least() int32 { return l.Workload.Replicas - l.unavailable }

// move brings the sets nearer to the target and to the others that it leaves.
func (p *pass) move() {
	others := max(p.Workload.Replicas-p.target, 0)
	p.change(
		func(l *ledger) { l.bring(others) },
		func(l *ledger) bool { return p.tooSmall(l, others) },
	)
	if p.paused() {
		p.say(v1alpha1.ReasonPausePoint, p.pauseMessage())
	}
}

// bring has the sets come to the target and to the others.
func (l *ledger) bring(others int32) {
	l.back = l.stepsBack()
	grown, filled := l.growUpdate(l.target), l.growOld(others)
	l.shrinkUpdate(l.target)
	l.shrinkOld(others + l.mayStay())
	if !grown {
		l.growUpdate(l.target)
	}
	if !filled {
		l.growOld(others)
	}
}

// keepScale follows spec.replicas in a failed release and otherwise leaves the pods as they are.
func (p *pass) keepScale() {
	p.change((*ledger).keep, func(*ledger) bool { return false })
}

// keep has the sets come to spec.replicas.
func (l *ledger) keep() {
	if l.status.RollbackTo != "" {
		l.growUpdate(min(l.target, l.Workload.Replicas-l.oldTotal()))
	}
	l.growOld(max(l.Workload.Replicas-min(l.want[l.update], l.target), 0))
	l.shrinkUpdate(l.target)
	others := l.Workload.Replicas + l.surge - l.want[l.update]
	if l.status.RollbackTo == "" { // of updated pods beyond the step's share it is those that have yet to go
		others = max(others, l.Workload.Replicas-l.target)
	}
	l.shrinkOld(others)
}

// growth is how many pods the set of the new revision may have right away: as many as there
// is room for, and one in any case if otherwise the native controller would scale the old
// ones, or none of them could make room.
func (l *ledger) growth(target int32) int32 {
	have := int32(0)
	if l.update != nil {
		have = l.want[l.update]
	}
	up := max(min(l.room(), target-have), 0)
	if up == 0 && have == 0 && target > 0 && l.pinned() {
		return 1
	}
	return have + up
}

// pinned reports whether the old sets can't shrink before there is an updated pod: the native
// controller sets a lone active one to all replicas, whatever it was scaled to.
func (l *ledger) pinned() bool {
	active, single := 0, true
	for _, set := range l.old {
		if l.want[set] > 0 || set.Replicas > 0 {
			active++
			single = single && l.want[set] == 1
		}
	}
	return active == 1 || active == 2 && single && l.Workload.Replicas != 1
}

// active counts the sets that have, or are to have, pods.
func (l *ledger) active() int {
	n := 0
	for _, set := range l.sets() {
		if l.want[set] > 0 || set.Replicas > 0 {
			n++
		}
	}
	return n
}

// growUpdate adds updated pods and reports whether there is one more now.
func (l *ledger) growUpdate(target int32) bool {
	have := l.want[l.update]
	if l.update.shrinking() {
		return false
	}
	l.want[l.update] = l.growth(target)
	return l.want[l.update] > have
}

// growOld adds pods of the version before, after spec.replicas grew or pods were taken away.
// A rollback has none to add: the version before it is the bad one. It reports whether there
// is one more now.
func (l *ledger) growOld(others int32) bool {
	up := min(others-l.oldTotal(), l.room())
	if !l.rescaling() && !l.blocked && !l.back {
		up = min(up, l.Workload.Replicas-l.total())
	}
	if others > 0 && l.alone() {
		up = max(up, 1)
	}
	set := l.stableSet()
	if up <= 0 || set == nil || set.shrinking() || l.status.RollbackTo != "" {
		return false
	}
	l.want[set] += up
	return true
}

// alone reports whether the updated pods, some of which are to go back, are all that there are. The native
// controller sets a lone active set to all replicas, so that another one must have a pod first.
func (l *ledger) alone() bool {
	return l.takesBack() && l.want[l.update] > 0 && l.oldTotal() == 0 && l.oldReplicas() == 0
}

// takesBack reports whether updated pods may make room for old ones.
func (l *ledger) takesBack() bool {
	return l.back || l.rescaling() && l.status.RollbackTo == "" && l.target < l.Workload.Replicas
}

// shrinking reports whether pods are still to go that the status may count as available:
// once such a set grows again nobody could tell them from new ones.
func (s *Set) shrinking() bool { return s.Current > s.Replicas }

// stableSet is the old set to grow: that of the stable revision, else the newest that runs
// pods, else the newest.
func (l *ledger) stableSet() *Set {
	var newest *Set
	for _, set := range l.old {
		if set.Revision == l.status.StableRevision {
			return set
		}
		if newest == nil || set.Replicas > 0 || newest.Replicas == 0 {
			newest = set
		}
	}
	return newest
}

// shrinkUpdate takes updated pods away after spec.replicas has changed: it fell, or the native
// controller made every pod an updated one while there were no others. It takes away too what
// goes beyond the step while the step waits for a gate: somebody had unpaused the workload. Or the step was
// jumped back to, and pods go back with it.
func (l *ledger) shrinkUpdate(target int32) {
	set := l.update
	if l.grown() && !l.back {
		target = max(target, l.reach())
	}
	excess := l.want[set] - target
	if excess <= 0 || !l.rescaling() && !l.blocked && !l.back || l.alone() {
		return
	}
	l.want[set] -= min(excess, l.idle(set)+l.spare())
}

// shrinkOld takes old pods away: first those that are not available, so that a broken
// version does not block the one that mends it, then the rest; the oldest set first.
func (l *ledger) shrinkOld(others int32) {
	excess := l.oldTotal() - others
	broken := min(excess, l.brokenRoom())
	for _, set := range l.old {
		down := max(min(broken, l.idle(set), l.mayGo(set)), 0)
		down = l.keepTwoActive(set, down)
		l.want[set] -= down
		broken -= down
		excess -= down
	}
	for _, set := range l.old {
		down := max(min(excess, l.spare(), l.mayGo(set)), 0)
		down = l.keepTwoActive(set, down)
		l.want[set] -= down
		excess -= down
	}
}

// mayGo is how many pods of a set may go in their order, room and availability aside.
func (l *ledger) mayGo(set *Set) int32 {
	limit, limited := l.limits[set]
	if !limited {
		return l.want[set]
	}
	beyond := l.total() - l.Workload.Replicas - l.surge // spec.replicas is the user's, and is followed
	return min(max(l.want[set]-limit.paused, beyond), l.want[set]-limit.proven)
}

// manyPods is how many pods take the cluster a while to make.
const manyPods = 8

// mayStay is how many old pods beyond the others may stay for now, within maxSurge. While many
// updated pods are being made the old ones stay, so as not to hold them up; they go while those
// start, when the cluster has nothing else to do.
func (l *ledger) mayStay() int32 {
	made := l.update.Observed && l.update.Current >= l.target && l.want[l.update] >= l.target
	if l.rescaling() || made || l.update.Failure != nil || l.target-l.update.Available < manyPods {
		return 0
	}
	return l.surge
}

// brokenRoom is how many unavailable old pods may go (maxScaledDown in reconcileOldReplicaSets
// of the native controller): all - (replicas - maxUnavailable) - unavailable updated pods.
func (l *ledger) brokenRoom() int32 {
	missing := max(l.want[l.update]-l.update.Available, 0)
	return max(l.total()-l.least()-missing, 0)
}

// keepTwoActive limits a shrink that would leave one active set while no updated pod is
// there: the native controller would set that one to all replicas, now or when somebody scales the workload.
// The steadiest is never the one to go.
func (l *ledger) keepTwoActive(set *Set, down int32) int32 {
	if l.want[l.update] > 0 || down < l.want[set] || l.Workload.Replicas == 0 {
		return down
	}
	if l.status.RollbackTo == "" && l.steadiest(set) {
		return max(down-1, 0)
	}
	others, all := 0, false
	for _, other := range l.old {
		if other != set && l.want[other] > 0 {
			others++
			all = l.want[other] == l.Workload.Replicas
		}
	}
	if others == 1 && !all {
		return max(down-1, 0)
	}
	return down
}

// steadiest reports whether there are other old sets that are to have pods, and all of them are less steady.
func (l *ledger) steadiest(set *Set) bool {
	others := false
	for _, other := range l.old {
		if other == set || l.want[other] == 0 {
			continue
		}
		if l.steady(other) >= l.steady(set) {
			return false
		}
		others = true
	}
	return others
}
