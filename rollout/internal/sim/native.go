package sim

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// SyncWorkload is one turn of the native Deployment controller. It ends with the note in the
// workload's status that the present spec is seen. It reports whether anything changed.
func (w *World) SyncWorkload() bool {
	d := &w.Workload
	if d.Absent {
		return false
	}
	changed := native{w, d.Spec}.turn()
	if d.behind() > 0 {
		d.Seen, d.Earlier, d.Version = d.Generation, nil, w.next()
		changed = true
	}
	return changed
}

// SyncWorkloadLate is a turn with the spec of some changes ago, which is what the native
// controller's cache still shows. Its note in the status comes too late. From here on the cache
// shows nothing older.
func (w *World) SyncWorkloadLate(changes int) bool {
	d := &w.Workload
	shown := len(d.Earlier) - changes
	if d.Absent || shown < 0 {
		return false
	}
	d.Earlier = d.Earlier[shown:]
	return native{w, d.Earlier[0]}.turn()
}

// native is the Deployment controller with the spec that it sees, after
// pkg/controller/deployment of Kubernetes 1.36.
type native struct {
	*World
	Spec
}

func (n native) turn() bool {
	switch {
	case n.Paused:
		return n.scale() || n.cleanUp()
	case n.scalingEvent():
		return n.scale()
	case n.Strategy == Recreate:
		return n.recreate()
	default:
		return n.roll()
	}
}

// current is the ReplicaSet of the template: "new" to the native controller.
func (n native) current() *Set { return n.Set(n.Template) }

func (n native) old() []*Set {
	var old []*Set
	for i := range n.Sets {
		if n.Sets[i].Revision != n.Template {
			old = append(old, &n.Sets[i])
		}
	}
	return old
}

// scalingEvent: an active ReplicaSet says that it was last scaled for another spec.replicas.
func (n native) scalingEvent() bool {
	return slices.ContainsFunc(n.Sets, func(s Set) bool {
		return s.Replicas > 0 && s.Desired >= 0 && s.Desired != n.Replicas
	})
}

// scale is T1, one active or the newest ReplicaSet follows spec.replicas, and T2, a
// saturated new one sends the others to 0.
func (n native) scale() bool {
	if s := n.activeOrLatest(); s != nil {
		return n.resize(s, n.Replicas)
	}
	changed := false
	switch {
	case n.saturated():
		n.judgeSaturated()
		for _, s := range n.old() {
			changed = n.resize(s, 0) || changed
		}
	case n.Strategy == RollingUpdate && n.scalingEvent():
		n.scaleInProportion()
		changed = true
	}
	return changed
}

// scaleInProportion lets the active ReplicaSets share what is to be added or taken away. The
// largest gets what is left over.
func (n native) scaleInProportion() {
	active, sum := n.active(), total(n.Sets)
	slices.SortStableFunc(active, func(a, b *Set) int { return int(b.Replicas - a.Replicas) })
	allowed := int32(0)
	if n.Replicas > 0 {
		surge, _ := fence(n.Workload.MaxSurge, n.Workload.MaxUnavailable, n.Replicas)
		allowed = n.Replicas + surge
	}
	left := allowed - sum
	for _, s := range active[1:] {
		part := s.Replicas * (allowed - sum) / sum
		left -= part
		n.resize(s, s.Replicas+part)
	}
	n.resize(active[0], max(active[0].Replicas+left, 0))
	for _, s := range active {
		s.Desired = n.Replicas
	}
}

func (n native) active() []*Set {
	var active []*Set
	for i := range n.Sets {
		if n.Sets[i].Replicas > 0 {
			active = append(active, &n.Sets[i])
		}
	}
	return active
}

// activeOrLatest is FindActiveOrLatest.
func (n native) activeOrLatest() *Set {
	active := n.active()
	switch {
	case len(active) == 1:
		return active[0]
	case len(active) > 1 || len(n.Sets) == 0:
		return nil
	case n.current() != nil:
		return n.current()
	default:
		return &n.Sets[len(n.Sets)-1]
	}
}

// saturated is IsSaturated of the new ReplicaSet.
func (n native) saturated() bool {
	s, replicas := n.current(), n.Replicas
	return s != nil && s.Replicas == replicas && s.Desired == replicas && s.Status.Available == replicas
}

func (n native) resize(s *Set, replicas int32) bool {
	if s.Replicas == replicas {
		return false
	}
	if replicas > s.Replicas {
		n.judgeNative(s, replicas)
	}
	n.World.resize(s, replicas)
	s.Desired = n.Replicas
	return true
}

// cleanUp is T4: old ReplicaSets without pods beyond revisionHistoryLimit are deleted.
func (n native) cleanUp() bool {
	excess := len(n.old()) - n.Workload.HistoryLimit
	changed := false
	for _, s := range clones(n.old())[:max(excess, 0)] {
		if s.Replicas == 0 && s.Status.Current == 0 && s.Observed {
			n.Sets = slices.DeleteFunc(n.Sets, func(other Set) bool { return other.UID == s.UID })
			changed = true
		}
	}
	return changed
}

func clones(sets []*Set) []Set {
	var out []Set
	for _, s := range sets {
		out = append(out, *s)
	}
	return out
}

// recreate is rolloutRecreate, and T6: every old pod goes before a new one comes.
func (n native) recreate() bool {
	changed, running := false, false
	for _, s := range n.old() {
		changed = n.resize(s, 0) || changed
		running = running || s.Pods.total()+s.Pods.Going > 0
	}
	if changed || running {
		return changed
	}
	if n.current() == nil {
		n.addSet(Set{Revision: n.Template, Desired: n.Replicas})
		changed = true
	}
	return n.resize(n.current(), n.Replicas) || n.cleanUp() || changed
}

// roll is rolloutRolling.
func (n native) roll() bool {
	created := n.current() == nil
	if created {
		n.addSet(Set{Revision: n.Template, Desired: n.Replicas})
	}
	return n.grow() || n.shrink() || n.complete() && n.cleanUp() || created
}

func (n native) grow() bool {
	s, replicas := n.current(), n.Replicas
	if s.Replicas > replicas {
		return n.resize(s, replicas)
	}
	surge, _ := fence(n.Workload.MaxSurge, n.Workload.MaxUnavailable, replicas)
	room := max(replicas+surge-total(n.Sets), 0)
	return n.resize(s, min(s.Replicas+room, replicas))
}

// shrink is reconcileOldReplicaSets: unhealthy old pods first.
func (n native) shrink() bool {
	s := n.current()
	_, unavailable := fence(n.Workload.MaxSurge, n.Workload.MaxUnavailable, n.Replicas)
	least := n.Replicas - unavailable
	room := total(n.Sets) - least - (s.Replicas - s.Status.Available)
	if room <= 0 {
		return false
	}
	changed := false
	for _, old := range n.old() {
		down := max(min(room, old.Replicas-old.Status.Available), 0)
		changed = n.resize(old, old.Replicas-down) || changed
		room -= down
	}
	spare := -least
	for i := range n.Sets {
		spare += n.Sets[i].Status.Available
	}
	for _, old := range n.old() {
		down := max(min(spare, old.Replicas), 0)
		changed = n.resize(old, old.Replicas-down) || changed
		spare -= down
	}
	return changed
}

func (n native) complete() bool {
	s := n.current()
	return s.Replicas == n.Replicas && s.Status.Available == s.Replicas && total(n.Sets) == s.Replicas
}

// fence is how far the pods may stray from replicas in a release: as the user's own strategy
// says, or by default.
func (d *Workload) fence(replicas int32) (surge, unavailable int32) {
	if d.ownStrategy() != RollingUpdate {
		return fence(&plan.DefaultFence, &plan.DefaultFence, replicas)
	}
	return fence(d.MaxSurge, d.MaxUnavailable, replicas)
}

// ownStrategy is what the workload has unless it is held.
func (d *Workload) ownStrategy() string {
	if d.Hold != nil {
		return d.Hold.Strategy
	}
	return d.Strategy
}

// fence is ResolveFenceposts.
func fence(maxSurge, maxUnavailable *intstr.IntOrString, replicas int32) (surge, unavailable int32) {
	up, _ := intstr.GetScaledValueFromIntOrPercent(maxSurge, int(replicas), true)
	down, _ := intstr.GetScaledValueFromIntOrPercent(maxUnavailable, int(replicas), false)
	surge, unavailable = int32(up), min(int32(down), replicas)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}
