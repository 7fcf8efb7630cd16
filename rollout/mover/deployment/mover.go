package deployment

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
)

// Mover is a Deployment with its ReplicaSets. It implements mover.Mover.
type Mover struct {
	Paused bool
	// Recreate says that spec.strategy.type is Recreate.
	Recreate bool
	// PausedByPolicy says that a policy has paused a followed Deployment, and not its user.
	PausedByPolicy bool
	// Strategy is spec.strategy as JSON, to be put back later.
	Strategy string
	// Sets are the ReplicaSets that the Deployment owns, by its UID.
	Sets []Set
}

var _ mover.Mover = Mover{}

// Native implements mover.Mover: a Deployment that is held is paused and has strategy Recreate
// (T3).
func (m Mover) Native() mover.Native {
	n := mover.Native{
		Secured:    m.Paused && m.Recreate,
		Unsecured:  v1alpha1.ReasonWorkloadUnpaused,
		Free:       !m.Paused && !m.Recreate,
		Ours:       m.Recreate,
		Own:        v1alpha1.HeldWorkload{Strategy: m.Strategy, Paused: m.Paused && !m.PausedByPolicy},
		OneVersion: m.Recreate,
		Contained:  m.Paused,

		EmptyTakesTemplate: true,
	}
	if m.Paused {
		n.Unsecured = v1alpha1.ReasonStrategyChanged
	}
	return n
}

// Has implements mover.Mover: the ReplicaSet of a revision has its template.
func (m Mover) Has(revision string) bool {
	return slices.ContainsFunc(m.Sets, func(s Set) bool { return s.Revision == revision })
}

// Serving implements mover.Mover.
func (m Mover) Serving(digest, revision string) string {
	serves, most := revision, int32(0)
	for _, set := range old(m.Sets, digest) {
		switch pods := max(set.Replicas, set.Current); {
		case pods > 0 && set.Revision == revision:
			return revision
		case pods > most:
			serves, most = set.Revision, pods
		}
	}
	return serves
}

// Runs implements mover.Mover.
func (m Mover) Runs(revision string) int32 {
	n := int32(0)
	for i := range m.Sets {
		if m.Sets[i].Revision == revision {
			n += m.Sets[i].Current
		}
	}
	return n
}

// MayAct implements mover.Mover. Where only our take-over is unseen and one old ReplicaSet has all
// the replicas, the native controller could do no more than take new pods away again, which costs
// them their start.
func (m Mover) MayAct(digest string, replicas int32, behind int64) bool {
	if behind != 1 {
		return behind > 1
	}
	alone := lone(m.Sets)
	return alone == nil || alone.Replicas != replicas || alone.Digest == digest
}

// Make implements mover.Mover: the native controller makes no ReplicaSet while the Deployment is
// paused.
func (m Mover) Make(t mover.Task) mover.Write {
	if updated(m.Sets, t.Digest) != nil {
		return nil
	}
	return Create{Revision: t.Revision, Replicas: task{t, m.Sets}.first()}
}

// Move implements mover.Mover. There must be a new ReplicaSet.
func (m Mover) Move(t mover.Task) mover.Moves { return task{t, m.Sets}.move().moves() }

// Keep implements mover.Mover. There must be a new ReplicaSet.
func (m Mover) Keep(t mover.Task) mover.Moves { return task{t, m.Sets}.keep().moves() }

// Now implements mover.Mover.
func (m Mover) Now(t mover.Task) mover.Moves { return task{t, m.Sets}.now().moves() }

// Clear implements mover.Mover.
func (m Mover) Clear(t mover.Task) []mover.Write { return writes(task{t, m.Sets}.last()) }

// Give implements mover.Mover: a ReplicaSet that runs pods already loses the native controller's
// note. Where that controller has given it all its pods itself it would otherwise empty the others
// as soon as it sees the template (T2), before anything can be written in between.
func (m Mover) Give(digest string) []mover.Write {
	set := updated(m.Sets, digest)
	if set == nil || !set.Noted || set.Replicas == 0 {
		return nil
	}
	return []mover.Write{Scale{Set: *set, From: set.Replicas, To: set.Replicas, Why: mover.KeepOthersAtStart, Updated: true}}
}

// Finish implements mover.Mover.
func (m Mover) Finish(digest string) []mover.Write {
	set := updated(m.Sets, digest)
	if set == nil || !set.Noted {
		return nil
	}
	return []mover.Write{Scale{Set: *set, From: set.Replicas, To: set.Replicas, Why: mover.FinishScaling, Updated: true}}
}

// Restore implements mover.Mover.
func (Mover) Restore(pods []order.Pod) mover.Write {
	if changes := order.Restored(pods); len(changes) > 0 {
		return OrderPods{Changes: changes, Why: mover.Restored}
	}
	return nil
}
