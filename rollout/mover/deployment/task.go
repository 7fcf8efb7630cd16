package deployment

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// task holds the wanted pods of a Deployment, and the present ones.
type task struct {
	mover.Task

	// sets are all ReplicaSets.
	sets []Set
}

// row is a ReplicaSet with the size that it is to have.
type row struct {
	*Set

	want int32
}

// table is the arithmetic of one Move or Keep, which fills in the sizes wanted.
type table struct {
	task

	// updated is nil if there is no new ReplicaSet yet.
	updated *row
	old     []*row
	// keepOthers says that the native controller's note has to go before pods of the new set do, and
	// beside that it has to go because old pods stay for requests.
	keepOthers, beside bool
	// noted are old sets from which that note has to go.
	noted []*row
	// joins says that a version gets a pod beyond what there may be, before others that serve, or do
	// not, make room for it (T1).
	joins bool
}

// table begins with the sizes that there are.
func (t task) table() *table {
	b := &table{task: t}
	if updated := updated(t.sets, t.Digest); updated != nil {
		b.updated = &row{updated, updated.Replicas}
	}
	for _, set := range old(t.sets, t.Digest) {
		b.old = append(b.old, &row{set, set.Replicas})
	}
	slices.SortStableFunc(b.old, b.goesFirst)
	return b
}

// goesFirst orders old sets, the oldest first otherwise: of what is not approved pods go first, of
// what is stable they go last, and of what is alike those go first that no requests go to.
func (b *table) goesFirst(x, y *row) int {
	steady := 0
	if !b.Rollback {
		steady = cmp.Compare(b.steady(x.Set), b.steady(y.Set))
	}
	return cmp.Or(steady, cmp.Compare(min(b.floor(x), 1), min(b.floor(y), 1)))
}

// steady returns 2 for the set of the stable revision, 1 for those that there were before it, which
// ran under the native controller or were released, and 0 for others: they may be left of a release
// that nobody has approved in full.
func (t task) steady(s *Set) int {
	if s.Revision == t.Stable {
		return 2
	}
	i := slices.IndexFunc(t.sets, func(o Set) bool { return o.Revision == t.Stable })
	if i >= 0 && older(s, &t.sets[i]) {
		return 1
	}
	return 0
}

// rows returns all of them, that of the new version first.
func (b *table) rows() []*row {
	if b.updated == nil {
		return b.old
	}
	return append([]*row{b.updated}, b.old...)
}

func sum(rows []*row, of func(*row) int32) int32 {
	var total int32
	for _, r := range rows {
		total += of(r)
	}
	return total
}

func wanted(r *row) int32 { return r.want }

func size(r *row) int32 { return r.Replicas }

func (b *table) total() int32 { return sum(b.rows(), wanted) }

func (b *table) oldTotal() int32 { return sum(b.old, wanted) }

func (b *table) oldReplicas() int32 { return sum(b.old, size) }

// updatedTotal returns how many updated pods are wanted.
func (b *table) updatedTotal() int32 {
	if b.updated == nil {
		return 0
	}
	return b.updated.want
}

// available returns how many pods are available if the worst go: of each set those first that are
// not ready, as the ReplicaSet controller has it. Of the ready ones it takes whom it likes; with
// minReadySeconds that may be an available one while there are others.
func (b *table) available() int32 {
	return sum(b.rows(), func(r *row) int32 { return max(r.Available-max(r.Ready-r.want, 0), 0) })
}

// idle returns how many pods of a set can go without an available one among them.
func (r *row) idle() int32 {
	if r.Available == 0 {
		return r.want
	}
	return max(r.want-r.Ready, 0)
}

// least returns how many pods have to be available: replicas - maxUnavailable (minAvailable in
// reconcileOldReplicaSets of the native controller).
func (b *table) least() int32 { return b.Replicas - b.Unavailable }

// most returns how many pods there may be: replicas + maxSurge (maxTotalPods in NewRSNewReplicas of
// the native controller), or more if the steps ask for it.
func (b *table) most() int32 { return max(b.Replicas+b.Surge, b.Most) }

// tight reports whether there may be no pod beyond replicas.
func (b *table) tight() bool { return b.most() <= b.Replicas }

// room returns how many pods may be added to a set: most - all (NewRSNewReplicas). It is less than
// 0 if there are too many already. Unlike the native controller, which reckons with sizes alone, it
// counts what runs: pods that a write has taken away count until the ReplicaSet controller has
// deleted them. Where nobody can say how many that are, there is none, and nothing is known.
func (b *table) room(of *row) (pods int32, known bool) {
	left := int64(b.most())
	for _, r := range b.rows() {
		if r != of && r.unsure() {
			return 0, false
		}
		left -= int64(r.peak())
		if b.AwaitTermination && r.Terminating != nil {
			left -= int64(*r.Terminating)
		}
	}
	return int32(max(left, math.MinInt32)), true
}

// peak returns how many pods of a set there are, or will be, before it has the size wanted.
func (r *row) peak() int32 { return max(r.want, r.Replicas, r.Current) }

// unsure reports whether nobody can say how many pods of a set there are: its status does not speak
// of the size that it has. It may have been larger, with pods that the status has never counted.
func (r *row) unsure() bool { return !r.Observed }

// spare returns how many available pods may go: available - (replicas - maxUnavailable)
// (totalScaleDownCount in scaleDownOldReplicaSetsForRollingUpdate of the native controller).
func (b *table) spare() int32 { return max(b.available()-b.least(), 0) }

// active counts the sets that have, or are to have, pods.
func (b *table) active() int {
	n := 0
	for _, r := range b.rows() {
		if r.want > 0 || r.Replicas > 0 {
			n++
		}
	}
	return n
}
