package deployment

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// Prepare implements mover.Mover: no ReplicaSet that nobody has approved in full is alone, or
// complete, to the native controller. It would give a lone one every pod that somebody scales the
// Deployment to, and where none has pods, the newest (T1); it would empty all others for a new one
// that it has given all its pods itself (T2). So the stable version gets a pod, and the new one
// loses that controller's note, before anything shows the release. That waits until pods that are
// to go make room.
func (m Mover) Prepare(b mover.Beginning) (all []mover.Write, awaited v1alpha1.Awaited) {
	single, stable := lone(m.Sets), m.setOf(b.Stable)
	alone := single != nil && single != stable && (single.Digest == b.Template || b.Left != "" && single.Revision == b.Left)
	for i := range m.Sets {
		set := &m.Sets[i]
		isNew := set.Digest == b.Template || alone && set == single && set.Digest == b.Digest
		if isNew && set.Noted && set.Replicas > 0 && !set.Deleting {
			all = append(all, Scale{Set: *set, From: set.Replicas, To: set.Replicas, Why: mover.KeepOthersAtStart})
		}
	}
	switch none := active(m.Sets) == 0; {
	case !alone && !none:
		return all, ""
	case none && b.AtHand && stable != nil: // the native controller gives it all the pods itself
		return all, v1alpha1.AwaitedNativeController
	case stable == nil && !b.AtHand:
		return all, ""
	case !m.hasRoom(b, stable):
		return all, v1alpha1.AwaitedRoom
	case stable != nil:
		return append(all, Scale{Set: *stable, To: 1, Why: mover.Beside}), ""
	default:
		return append(all, Create{Revision: b.Stable, Replicas: 1, Why: mover.Beside}), ""
	}
}

// hasRoom reports whether a set, which is nil if it is yet to be made, may get its first pod.
// Beside a lone one that may be one beyond spec.replicas without surge (T1).
func (m Mover) hasRoom(b mover.Beginning, set *Set) bool {
	room, known := m.room(b, set)
	return known && (room > 0 || room == 0 && b.Surge == 0 && lone(m.Sets) != nil)
}

// room returns how many pods a set may get, which is nil if it is yet to be made. It is not known
// while nobody can tell its pods that are to go from new ones.
func (m Mover) room(b mover.Beginning, set *Set) (pods int32, known bool) {
	d := task{mover.Task{Digest: b.Digest, Replicas: b.Replicas, Bounds: b.Bounds, Mode: b.Mode}, m.Sets}.draft()
	var of *row
	for _, r := range d.sizes.rows() {
		if r.Set == set {
			of = r
		}
	}
	if of != nil && of.shrinking() {
		return 0, false
	}
	return d.space.room(d.sizes, of)
}

// setOf returns the ReplicaSet of a revision, nil if there is none.
func (m Mover) setOf(revision string) *Set {
	i := slices.IndexFunc(m.Sets, func(s Set) bool { return s.Revision == revision && !s.Deleting })
	if i < 0 {
		return nil
	}
	return &m.Sets[i]
}

// Refill implements mover.Mover. If somebody has deleted the stable ReplicaSet it is made again. If
// pods of another version are left it gets a pod of its own: otherwise those would be alone (T1).
// That waits until pods that are to go make room, which the native controller sees to: it sets a
// lone one to spec.replicas. Where none has pods it sets the stable one to that, too, however many
// it is made with.
func (m Mover) Refill(b mover.Beginning) mover.Write {
	running, i := active(m.Sets), slices.IndexFunc(m.Sets, func(s Set) bool { return s.Revision == b.Stable })
	switch {
	case running > 1 || i >= 0 && (running == 0 || m.Sets[i].Replicas > 0 || m.Sets[i].Deleting || b.Replicas == 0):
		return nil
	case running == 0:
		room, known := m.room(b, nil)
		if !known {
			room = 0
		}
		return Create{Revision: b.Stable, Replicas: max(min(b.Replicas, room), 0), Why: mover.StableGone}
	case i >= 0 && m.hasRoom(b, &m.Sets[i]):
		return Scale{Set: m.Sets[i], To: 1, Why: mover.Beside}
	case i < 0 && (b.Replicas == 0 || m.hasRoom(b, nil)):
		return Create{Revision: b.Stable, Replicas: min(b.Replicas, 1), Why: mover.Beside}
	default:
		return nil
	}
}

// Refilled implements mover.Mover. Until the native controller has given the stable ReplicaSet the
// pods that the Deployment is scaled to, and has seen that itself, it might give them to the new
// one. Of several it gives none more pods.
func (m Mover) Refilled(stable string, behind int64) bool {
	serves := func(s Set) bool { return s.Revision == stable && s.Replicas > 0 && s.Observed }
	return behind == 0 && (active(m.Sets) > 1 || slices.ContainsFunc(m.Sets, serves))
}
