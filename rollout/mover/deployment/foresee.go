package deployment

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
)

var _ mover.Foresees = Mover{}

// Foresee implements mover.Foresees.
func (m Mover) Foresee(write mover.Write, digest string) (mover.Effect, mover.Foresees) {
	after := m
	after.Sets = slices.Clone(m.Sets)
	var effect mover.Effect
	switch w := write.(type) {
	case Create:
		effect.Revision, effect.Grows = w.Revision, w.Replicas > 0
		after.Sets = append(after.Sets, Set{Revision: w.Revision, Digest: digest, Replicas: w.Replicas})
	case Scale:
		effect.Revision, effect.Grows = w.Set.Revision, w.To > w.From
		if i := slices.IndexFunc(after.Sets, func(s Set) bool { return s.UID == w.Set.UID }); i >= 0 {
			after.Sets[i].Replicas = w.To
		}
	}
	effect.Updated = mover.Change{Before: size0(updated(m.Sets, digest)), After: size0(updated(after.Sets, digest))}
	effect.Most = mover.Change{Before: mostPods(m.Sets), After: mostPods(after.Sets)}
	effect.Available = mover.Change{Before: surelyAvailable(m.Sets), After: surelyAvailable(after.Sets)}
	return effect, after
}

func size0(set *Set) int32 {
	if set == nil {
		return 0
	}
	return set.Replicas
}

func mostPods(sets []Set) (n int32) {
	for i := range sets {
		n += max(sets[i].Replicas, sets[i].Current)
	}
	return n
}

// surelyAvailable returns how many pods are available if those go first that are: of the ready ones
// the ReplicaSet controller takes whom it likes.
func surelyAvailable(sets []Set) (n int32) {
	for i := range sets {
		s := &sets[i]
		n += max(s.Available-max(s.Ready-s.Replicas, 0), 0)
	}
	return n
}
