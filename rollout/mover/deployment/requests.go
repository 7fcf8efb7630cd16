package deployment

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// requests holds how many pods each version keeps, the new one as well, and to how many old ones
// grow, for requests that routes share between versions.
type requests struct {
	keep, grow map[string]int32
	keepAll    bool
	replicas   int32
}

func requestsOf(t *mover.Task) requests { return requests{t.Keep, t.Grow, t.KeepAll, t.Replicas} }

// floor returns how many pods of a set are to be there for requests: as many as it keeps of those
// that it has, or grows to.
func (q requests) floor(r *row) int32 { return max(min(q.keeps(r), r.Replicas), q.growsTo(r)) }

// keeps returns how many pods of a set stay, of those that it has.
func (q requests) keeps(r *row) int32 {
	if q.keepAll {
		return q.replicas
	}
	return q.keep[r.Revision]
}

// growsTo returns how many pods a set grows to for requests. The new one grows to the target alone.
func (q requests) growsTo(r *row) int32 {
	if r.isNew {
		return 0
	}
	return q.grow[r.Revision]
}

// mayLose returns how many pods of a set requests can do without.
func (q requests) mayLose(r *row) int32 { return max(r.want-max(q.keeps(r), q.growsTo(r)), 0) }

// lacking returns how many pods old sets lack of those that they grow to for requests. Nothing else
// takes their room.
func (q requests) lacking(old []*row) int32 {
	return sum(old, func(r *row) int32 { return max(q.growsTo(r)-r.want, 0) })
}

// shared reports whether routes share requests between versions.
func (q requests) shared() bool { return q.keepAll || len(q.keep)+len(q.grow) > 0 }

// serve reports whether old pods stay for requests.
func (q requests) serve(old []*row) bool {
	return slices.ContainsFunc(old, func(r *row) bool { return min(q.floor(r), r.want) > 0 })
}
