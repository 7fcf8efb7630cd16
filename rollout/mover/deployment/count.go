package deployment

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// Count implements mover.Mover. Updated pods belong to the oldest ReplicaSet of the version that is
// not being deleted.
func (m Mover) Count(digest string) mover.Counts {
	c := mover.Counts{
		Settled:   !slices.ContainsFunc(m.Sets, func(s Set) bool { return !s.Observed || s.shrinking() }),
		Self:      active(m.Sets) < 2,
		Uncounted: slices.ContainsFunc(m.Sets, func(s Set) bool { return s.Observed && s.Replicas > 0 && s.Terminating == nil }),
		Failure:   newestFailure(m.Sets),
	}
	if set := updated(m.Sets, digest); set != nil {
		c.Updated = set.count()
	}
	c.Unseen = !c.Updated.Known && !m.Paused // its ReplicaSet gives the template its name
	native := New(m.Sets, digest)
	c.Leaving = native != nil && native.Deleting
	c.Others.Observed, c.All.Observed = true, true
	for _, set := range old(m.Sets, digest) {
		c.Others = c.Others.And(set.count())
	}
	for i := range m.Sets {
		all := m.Sets[i].count()
		all.Observed = all.Observed || all.Wanted == 0
		c.All = c.All.And(all)
	}
	return c
}

func (s *Set) count() mover.Count {
	return mover.Count{
		Known: true, Wanted: s.Replicas, Current: s.Current, Most: max(s.Replicas, s.Current), Ready: s.Ready, Available: s.Available,
		Staying: min(s.Available, s.Replicas), StayingReady: min(s.Ready, s.Replicas), Observed: s.Observed,
	}
}
