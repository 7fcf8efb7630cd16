package sim

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// SyncWorkload is one turn of the native Deployment controller, after pkg/controller/deployment
// of Kubernetes 1.36. It reports whether anything changed. Scaling several active ReplicaSets
// in proportion is left out: nothing that is held comes there.
func (w *World) SyncWorkload() bool {
	d := &w.Workload
	switch {
	case d.Absent:
		return false
	case w.syncAnnotations():
		return true
	case d.Paused:
		return w.scaleNatively() || w.cleanUp()
	case w.scalingEvent():
		return w.scaleNatively()
	case d.Strategy == Recreate:
		return w.recreate()
	default:
		return w.rollNatively()
	}
}

// current is the ReplicaSet of the workload's template: "new" to the native controller.
func (w *World) current() *Set { return w.Set(w.Workload.Template) }

func (w *World) old() []*Set {
	var old []*Set
	for i := range w.Sets {
		if w.Sets[i].Revision != w.Workload.Template {
			old = append(old, &w.Sets[i])
		}
	}
	return old
}

// syncAnnotations is T5: annotations of the new ReplicaSet are brought up to date, which
// makes whoever else writes it find a conflict.
func (w *World) syncAnnotations() bool {
	s := w.current()
	if s == nil || s.Synced {
		return false
	}
	s.Synced, s.Version = true, w.next()
	return true
}

// scalingEvent: an active ReplicaSet says that it was last scaled for another spec.replicas.
func (w *World) scalingEvent() bool {
	return slices.ContainsFunc(w.Sets, func(s Set) bool {
		return s.Replicas > 0 && s.Desired >= 0 && s.Desired != w.Workload.Replicas
	})
}

// scaleNatively is T1, one active or the newest ReplicaSet follows spec.replicas, and T2, a
// saturated new one sends the others to 0.
func (w *World) scaleNatively() bool {
	if s := w.activeOrLatest(); s != nil {
		return w.resizeNatively(s, w.Workload.Replicas)
	}
	if !w.saturated() {
		return false
	}
	changed := false
	for _, s := range w.old() {
		changed = w.resizeNatively(s, 0) || changed
	}
	return changed
}

// activeOrLatest is FindActiveOrLatest.
func (w *World) activeOrLatest() *Set {
	var active []*Set
	for i := range w.Sets {
		if w.Sets[i].Replicas > 0 {
			active = append(active, &w.Sets[i])
		}
	}
	switch {
	case len(active) == 1:
		return active[0]
	case len(active) > 1 || len(w.Sets) == 0:
		return nil
	case w.current() != nil:
		return w.current()
	default:
		return &w.Sets[len(w.Sets)-1]
	}
}

// saturated is IsSaturated of the new ReplicaSet.
func (w *World) saturated() bool {
	s, replicas := w.current(), w.Workload.Replicas
	return s != nil && s.Replicas == replicas && s.Desired == replicas && s.Status.Available == replicas
}

func (w *World) resizeNatively(s *Set, replicas int32) bool {
	if s.Replicas == replicas {
		return false
	}
	if replicas > s.Replicas && (s.Revision == w.Workload.Template || w.Past.Meddled) {
		w.Past.NativeGrowth = true
	}
	w.resize(s, replicas)
	s.Desired = w.Workload.Replicas
	return true
}

// cleanUp is T4: old ReplicaSets without pods beyond revisionHistoryLimit are deleted.
func (w *World) cleanUp() bool {
	excess := len(w.old()) - w.Workload.HistoryLimit
	changed := false
	for _, s := range clones(w.old())[:max(excess, 0)] {
		if s.Replicas == 0 && s.Status.Current == 0 && s.Observed {
			w.Sets = slices.DeleteFunc(w.Sets, func(other Set) bool { return other.UID == s.UID })
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
func (w *World) recreate() bool {
	changed, running := false, false
	for _, s := range w.old() {
		changed = w.resizeNatively(s, 0) || changed
		running = running || s.Pods.total() > 0
	}
	if changed || running {
		return changed
	}
	if w.current() == nil {
		w.addSet(Set{Revision: w.Workload.Template, Desired: w.Workload.Replicas})
		changed = true
	}
	return w.resizeNatively(w.current(), w.Workload.Replicas) || w.cleanUp() || changed
}

// rollNatively is rolloutRolling.
func (w *World) rollNatively() bool {
	if w.current() == nil {
		w.addSet(Set{Revision: w.Workload.Template, Desired: w.Workload.Replicas})
	}
	return w.growNatively() || w.shrinkNatively() || w.completeNatively() && w.cleanUp()
}

func (w *World) growNatively() bool {
	s, replicas := w.current(), w.Workload.Replicas
	if s.Replicas > replicas {
		return w.resizeNatively(s, replicas)
	}
	surge, _ := w.Workload.fence()
	room := max(replicas+surge-total(w.Sets), 0)
	return w.resizeNatively(s, min(s.Replicas+room, replicas))
}

// shrinkNatively is reconcileOldReplicaSets: unhealthy old pods first.
func (w *World) shrinkNatively() bool {
	s := w.current()
	_, unavailable := w.Workload.fence()
	least := w.Workload.Replicas - unavailable
	room := total(w.Sets) - least - (s.Replicas - s.Status.Available)
	if room <= 0 {
		return false
	}
	changed := false
	for _, old := range w.old() {
		down := max(min(room, old.Replicas-old.Status.Available), 0)
		changed = w.resizeNatively(old, old.Replicas-down) || changed
		room -= down
	}
	spare := -least
	for i := range w.Sets {
		spare += w.Sets[i].Status.Available
	}
	for _, old := range w.old() {
		down := max(min(spare, old.Replicas), 0)
		changed = w.resizeNatively(old, old.Replicas-down) || changed
		spare -= down
	}
	return changed
}

func (w *World) completeNatively() bool {
	s := w.current()
	return s.Replicas == w.Workload.Replicas && s.Status.Available == s.Replicas && total(w.Sets) == s.Replicas
}

// fence is ResolveFenceposts.
func (d *Workload) fence() (surge, unavailable int32) {
	return fence(d.MaxSurge, d.MaxUnavailable, d.Replicas)
}

func fence(maxSurge, maxUnavailable *intstr.IntOrString, replicas int32) (surge, unavailable int32) {
	up, _ := intstr.GetScaledValueFromIntOrPercent(maxSurge, int(replicas), true)
	down, _ := intstr.GetScaledValueFromIntOrPercent(maxUnavailable, int(replicas), false)
	surge, unavailable = int32(up), min(int32(down), replicas)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}
