package deployment

import (
	"cmp"
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// task holds the wanted pods of a Deployment, and the present ones.
type task struct {
	mover.Task

	// sets are all ReplicaSets.
	sets []Set
}

// draft is the arithmetic of one Move or Keep, which fills in the sizes wanted.
type draft struct {
	mover.Task

	sets     []Set
	sizes    *table
	requests requests
	space    space
	// keepOthers says that the native controller's note has to go before pods of the new set do, and
	// beside that it has to go because old pods stay for requests.
	keepOthers, beside bool
	// noted are old sets from which that note has to go.
	noted []*row
	// joins says that a version gets a pod beyond what there may be, before others that serve, or do
	// not, make room for it (T1).
	joins bool
}

// draft begins with the sizes that there are.
func (t task) draft() *draft {
	d := &draft{Task: t.Task, sets: t.sets, sizes: &table{}, requests: requestsOf(&t.Task), space: spaceOf(&t.Task)}
	if updated := updated(t.sets, t.Digest); updated != nil {
		d.sizes.updated = &row{updated, updated.Replicas, true}
	}
	for _, set := range old(t.sets, t.Digest) {
		d.sizes.old = append(d.sizes.old, &row{set, set.Replicas, false})
	}
	slices.SortStableFunc(d.sizes.old, d.goesFirst)
	return d
}

// goesFirst orders old sets, the oldest first otherwise: of what is not approved pods go first, of
// what is stable they go last, and of what is alike those go first that no requests go to.
func (d *draft) goesFirst(x, y *row) int {
	first := 0
	if !d.Rollback {
		first = cmp.Compare(steady(d.sets, d.Stable, x), steady(d.sets, d.Stable, y))
	}
	return cmp.Or(first, cmp.Compare(min(d.requests.floor(x), 1), min(d.requests.floor(y), 1)))
}

// steady returns 2 for the set of the stable revision, 1 for a set from before it, which ran under
// the native controller or was released, and 0 for another: it may be left of a release that was
// never approved in full.
func steady(sets []Set, stable string, r *row) int {
	if r.Revision == stable {
		return 2
	}
	i := slices.IndexFunc(sets, func(s Set) bool { return s.Revision == stable })
	if i >= 0 && older(r.Set, &sets[i]) {
		return 1
	}
	return 0
}

// rest returns how many pods the target leaves to other versions.
func (d *draft) rest() int32 { return max(d.Replicas-d.Target, 0) }

// others returns how many pods are to run other versions: the rest that the target leaves, and at
// least as many as requests need.
func (d *draft) others() int32 { return max(d.rest(), sum(d.sizes.old, d.requests.floor)) }

// takesBack reports whether updated pods may make room for old ones.
func (d *draft) takesBack() bool {
	return d.SteppingBack || (d.Rescaling || d.Blocked) && !d.Rollback && d.Target < d.Replicas
}

// alone reports whether the updated pods, some of which are to go back, are all that there are. The
// native controller sets a lone active set to all replicas, so that another one must have a pod
// first (T1).
func (d *draft) alone() bool {
	return d.takesBack() && d.sizes.updated.want > 0 && d.sizes.emptyOld()
}

// lacksOne reports whether, without surge, all pods but one are updated, of a target of all, and no
// more pods run than there may be.
func (d *draft) lacksOne() bool {
	u := d.sizes.updated
	room, known := d.space.room(d.sizes, u)
	return known && room >= 0 && d.space.tight() && u.Replicas > 0 && d.Target == d.Replicas && u.want == d.Replicas-1
}
