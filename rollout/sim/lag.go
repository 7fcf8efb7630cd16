package sim

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// Object names what a cache may lag behind on; the ReplicaSets by their revision.
type Object string

// The objects that are not ReplicaSets.
const (
	ReleaseObject  Object = "release"
	WorkloadObject Object = "workload"
	GateObjects    Object = "gates"
	KeptObjects    Object = "kept templates"
	TrafficObjects Object = "traffic"
	NewSetObjects  Object = "new sets"
)

// Lag holds the objects that the caches show instead of the present ones: each as it was when the
// lag began.
type Lag struct {
	Release  *Release
	Workload *Workload
	Sets     []SetLag
	// NewSets keeps ReplicaSets that are made from now on out of the cache.
	NewSets bool
	// Places are all pods of a workload whose pods have places.
	Places *[]Place
	Gates  *[]Gate
	// Traffic are the routes and Services, and the EndpointSlices.
	Traffic *Traffic
	Kept    *[]plan.Kept
}

// SetLag is the lag of one ReplicaSet: Set is nil if the cache does not have it yet.
type SetLag struct {
	UID types.UID
	Set *Set
}

// any reports whether a cache lags.
func (l *Lag) any() bool {
	return l.Release != nil || l.Workload != nil || len(l.Sets) > 0 || l.NewSets || l.Places != nil || l.Gates != nil || l.Kept != nil || l.Traffic != nil
}

// freezeCache lets the cache lag behind on an object from now on.
func freezeCache(w *World, object Object) bool {
	switch object {
	case ReleaseObject:
		return freeze(&w.Lag.Release, w.Release)
	case WorkloadObject:
		return freeze(&w.Lag.Workload, w.Workload)
	case GateObjects:
		return freeze(&w.Lag.Gates, slices.Clone(w.Gates))
	case KeptObjects:
		return freeze(&w.Lag.Kept, slices.Clone(w.Kept))
	case TrafficObjects:
		frozen := w.Traffic != nil && w.Lag.Traffic == nil
		if frozen {
			w.Lag.Traffic = w.Traffic.clone()
		}
		return frozen
	case NewSetObjects:
		changed := !w.Lag.NewSets
		w.Lag.NewSets = true
		return changed
	default:
		return w.Workload.kind.freeze(w, string(object))
	}
}

func freeze[T any](lag **T, present T) bool {
	if *lag != nil {
		return false
	}
	*lag = &present
	return true
}

func (deployments) freeze(w *World, revision string) bool {
	s := w.Set(revision)
	if s == nil || w.Lag.set(s.UID) != nil {
		return false
	}
	frozen := *s
	w.Lag.Sets = append(w.Lag.Sets, SetLag{s.UID, &frozen})
	return true
}

// set returns the lag of a ReplicaSet, nil if the cache is up to date on it.
func (l *Lag) set(uid types.UID) *SetLag {
	for i := range l.Sets {
		if l.Sets[i].UID == uid {
			return &l.Sets[i]
		}
	}
	return nil
}

// thaw brings every cache up to date.
func thaw(w *World) bool {
	lagged := w.Lag.any()
	w.Lag = Lag{}
	return lagged
}

// cachedSets returns the ReplicaSets as the cache has them.
func (w *World) cachedSets() []Set {
	var cached []Set
	for i := range w.Sets {
		if w.Lag.set(w.Sets[i].UID) == nil {
			cached = append(cached, w.Sets[i])
		}
	}
	for _, lag := range w.Lag.Sets {
		if lag.Set != nil {
			cached = append(cached, *lag.Set)
		}
	}
	slices.SortFunc(cached, func(a, b Set) int { return int(a.Made - b.Made) })
	return cached
}

func cached[T any](lag *T, present T) T {
	if lag != nil {
		return *lag
	}
	return present
}
