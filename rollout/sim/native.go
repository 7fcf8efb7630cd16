package sim

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// syncWorkload runs one turn of the native controller of the workload. It ends with the note in the
// workload's status that the present spec is seen. It reports whether anything changed.
func syncWorkload(w *World) bool {
	d := &w.Workload
	if d.Absent {
		return false
	}
	changed := d.kind.turn(w, d.Spec)
	if d.behind() > 0 {
		d.Seen, d.Earlier, d.Version = d.Generation, nil, w.next()
		changed = true
	}
	return changed
}

// syncWorkloadLate runs a turn with the spec of some changes ago, which the native controller's
// cache still shows. Its note in the status comes too late. From here on the cache
// shows nothing older.
func syncWorkloadLate(w *World, changes int) bool {
	d := &w.Workload
	shown := len(d.Earlier) - changes
	if d.Absent || shown < 0 {
		return false
	}
	d.Earlier = d.Earlier[shown:]
	return d.kind.turnLate(w, d.Earlier[0])
}

// native is the Deployment controller with the spec that it sees, after
// pkg/controller/deployment of Kubernetes 1.36.
type native struct {
	*World
	Spec
}

// native returns the Deployment controller with the present spec.
func (w *World) native() native { return native{w, w.Workload.Spec} }

func (n native) turn() bool {
	counted := n.count()
	switch {
	case n.Paused:
		return n.scale() || n.cleanUp() || counted
	case n.scalingEvent():
		return n.scale() || counted
	case n.Strategy == Recreate:
		return n.recreate() || counted
	default:
		return n.roll() || counted
	}
}

// count gives the new ReplicaSet a higher number than the others have.
func (n native) count() bool {
	s, number := n.current(), n.number()
	if s == nil || s.Number >= number {
		return false
	}
	s.Number, s.Version = number, n.next()
	return true
}

// number returns what the new ReplicaSet has, at the least, for its revision.
func (n native) number() int64 {
	latest := int64(0)
	for _, s := range n.old() {
		latest = max(latest, s.Number)
	}
	return latest + 1
}

// create makes the new ReplicaSet.
func (n native) create() {
	s := Set{Revision: n.Template, Number: n.number()}
	n.annotate(&s)
	n.addSet(s)
	n.see(podMade{n.Template, n.Spec})
}

// annotate notes for how many replicas a ReplicaSet is scaled, and how many there may be in all.
func (n native) annotate(s *Set) {
	s.Desired, s.Max = n.Replicas, n.Replicas+n.surge()
	n.noted = n.noted || n.Workload.Hold == nil
}

// surge returns MaxSurge: none unless the strategy is a rolling update.
func (n native) surge() int32 {
	if n.Strategy != RollingUpdate {
		return 0
	}
	surge, _ := bounds(n.Workload.MaxSurge, n.Workload.MaxUnavailable, n.Replicas)
	return surge
}

// current mirrors FindNewReplicaSet: the oldest of the template, "new" to the native controller.
func (n native) current() *Set { return n.setOf(n.Template) }

// setOf returns the oldest ReplicaSet of a template, nil if there is none.
func (w *World) setOf(template string) *Set {
	for i := range w.Sets {
		if same(w.Sets[i].Revision, template) {
			return &w.Sets[i]
		}
	}
	return nil
}

func (n native) old() []*Set {
	current := n.current()
	var old []*Set
	for i := range n.Sets {
		if s := &n.Sets[i]; s != current {
			old = append(old, s)
		}
	}
	return old
}

// scalingEvent reports whether an active ReplicaSet was last scaled for another spec.replicas.
func (n native) scalingEvent() bool {
	return slices.ContainsFunc(n.Sets, func(s Set) bool {
		return s.Replicas > 0 && s.Desired >= 0 && s.Desired != n.Replicas
	})
}

// scale has the one active or the newest ReplicaSet follow spec.replicas (T1), and a saturated new
// one sends the others to 0 (T2).
func (n native) scale() bool {
	if s := n.activeOrLatest(); s != nil {
		return n.resize(s, n.Replicas)
	}
	changed := false
	switch {
	case n.saturated():
		n.see(othersEmptied{n})
		for _, s := range n.old() {
			changed = n.resize(s, 0) || changed
		}
	case n.Strategy == RollingUpdate && n.scalingEvent():
		n.scaleInProportion()
		changed = true
	}
	return changed
}

// scaleInProportion lets the active ReplicaSets share what is to be added or taken away, each by
// what share it had of all that there could be when it was last scaled. The largest gets what is
// left over.
func (n native) scaleInProportion() {
	active, sum := n.active(), total(n.Sets)
	allowed := int32(0)
	if n.Replicas > 0 {
		allowed = n.Replicas + n.surge()
	}
	add, added := allowed-sum, int32(0)
	slices.SortFunc(active, func(a, b *Set) int {
		byAge := cmp.Compare(a.Made, b.Made)
		if add > 0 {
			byAge = -byAge
		}
		return cmp.Or(cmp.Compare(b.Replicas, a.Replicas), byAge)
	})
	sizes := make([]int32, len(active))
	for i, s := range active {
		part := n.part(s, add, added)
		sizes[i] = s.Replicas + part
		added += part
	}
	sizes[0] = max(sizes[0]+add-added, 0)
	for i, s := range active {
		n.resize(s, sizes[i])
		n.annotate(s)
	}
}

// part mirrors GetReplicaSetProportion.
func (n native) part(s *Set, add, added int32) int32 {
	switch {
	case add > added:
		return min(n.fraction(s), add-added)
	case add < added:
		return max(n.fraction(s), add-added)
	default:
		return 0
	}
}

// fraction returns how many pods a ReplicaSet gets, or loses, by its share alone.
func (n native) fraction(s *Set) int32 {
	before := s.Max
	if before == 0 {
		for i := range n.Sets {
			before += n.Sets[i].Status.Current
		}
	}
	switch {
	case n.Replicas == 0:
		return -s.Replicas
	case before == 0:
		return 0
	default:
		return int32(math.Round(float64(s.Replicas*(n.Replicas+n.surge()))/float64(before))) - s.Replicas
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

// activeOrLatest mirrors FindActiveOrLatest.
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

// saturated mirrors IsSaturated of the new ReplicaSet.
func (n native) saturated() bool {
	s, replicas := n.current(), n.Replicas
	return s != nil && s.Replicas == replicas && s.Desired == replicas && s.Status.Available == replicas
}

func (n native) resize(s *Set, replicas int32) bool {
	if s.Replicas == replicas {
		return false
	}
	n.see(setResized{n, s, replicas})
	n.World.resize(s, replicas)
	n.annotate(s)
	return true
}

// cleanUp deletes old ReplicaSets without pods beyond revisionHistoryLimit, the lowest numbers
// first (T4).
func (n native) cleanUp() bool {
	old := clones(n.old())
	slices.SortStableFunc(old, func(a, b Set) int { return cmp.Compare(a.Number, b.Number) })
	excess := len(old) - n.Workload.HistoryLimit
	changed := false
	for _, s := range old[:max(excess, 0)] {
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

// recreate mirrors rolloutRecreate (T6): every old pod goes before a new one comes.
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
		n.create()
		changed = true
	}
	return n.resize(n.current(), n.Replicas) || n.cleanUp() || changed
}

// roll mirrors rolloutRolling.
func (n native) roll() bool {
	created := n.current() == nil
	if created {
		n.create()
	}
	return n.grow() || n.shrink() || n.complete() && n.cleanUp() || created
}

func (n native) grow() bool {
	s, replicas := n.current(), n.Replicas
	if s.Replicas > replicas {
		return n.resize(s, replicas)
	}
	surge, _ := bounds(n.Workload.MaxSurge, n.Workload.MaxUnavailable, replicas)
	room := max(replicas+surge-total(n.Sets), 0)
	return n.resize(s, min(s.Replicas+room, replicas))
}

// shrink mirrors reconcileOldReplicaSets: unhealthy old pods first.
func (n native) shrink() bool {
	s := n.current()
	_, unavailable := bounds(n.Workload.MaxSurge, n.Workload.MaxUnavailable, n.Replicas)
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

// bounds returns how far the pods may stray from replicas in a release: as the user's own strategy
// says, or by default.
func (d *Workload) bounds(replicas int32) (surge, unavailable int32) {
	return d.kind.bounds(d, replicas)
}

func (deployments) bounds(d *Workload, replicas int32) (surge, unavailable int32) {
	if d.ownStrategy() != RollingUpdate {
		return bounds(&deployment.DefaultBound, &deployment.DefaultBound, replicas)
	}
	return bounds(d.MaxSurge, d.MaxUnavailable, replicas)
}

// unavailable makes pods of its own maxUnavailable, or of that of StatefulSets and DaemonSets by
// default.
func (d *Workload) unavailable(replicas int32, roundUp bool) int32 {
	if d.ownStrategy() != RollingUpdate || d.MaxUnavailable == nil {
		return 1
	}
	n, _ := intstr.GetScaledValueFromIntOrPercent(d.MaxUnavailable, int(replicas), roundUp)
	return int32(n)
}

// ownStrategy returns what the workload has unless it is held.
func (d *Workload) ownStrategy() string {
	held := d.own().Strategy
	if d.Hold != nil {
		held = d.Hold.Strategy
	}
	strategy, _, _ := strings.Cut(held, " from ")
	return strategy
}

// bounds mirrors ResolveFenceposts.
func bounds(maxSurge, maxUnavailable *intstr.IntOrString, replicas int32) (surge, unavailable int32) {
	up, _ := intstr.GetScaledValueFromIntOrPercent(maxSurge, int(replicas), true)
	down, _ := intstr.GetScaledValueFromIntOrPercent(maxUnavailable, int(replicas), false)
	surge, unavailable = int32(up), min(int32(down), replicas)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}
