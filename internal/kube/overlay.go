package kube

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Overlay lays what this process has written, or read live, over what its cache has, so that it reads its own writes:
// what it hands out is never older than what it was shown, until the cache has caught up. Losing an Overlay costs requests and
// conflicts, nothing else. The zero value can't be used; any number of goroutines may use one at a time.
//
//   - An object that was seen replaces an older one of the cache of the same name, also one that had the name before.
//   - An object that was seen and that the cache lacks is there, until the cache has had it.
//   - An object that was deleted is not there while the cache still has it. Another one of its name is.
//
// What an Overlay was shown it copies, and it hands out copies of that; what is of the cache it hands out as it is.
type Overlay[T client.Object] struct {
	clock  clock.PassiveClock
	unseen time.Duration

	mu   sync.Mutex
	seen map[types.NamespacedName]*seen[T]
	// listed is what the cache had when it was listed last.
	listed map[types.NamespacedName]T
}

// seen is an object that the cache has not caught up with.
type seen[T client.Object] struct {
	object T
	since  time.Time
	// cached says that the cache had the object in an older version: if it has none later on, the object was deleted.
	cached bool
	// deleted says that this process has deleted the object, as it was last seen.
	deleted bool
}

// NewOverlay makes an empty Overlay. An object may come and go before the cache ever has it, and then no watch tells: what
// the cache still lacks after the time unseen is given up. 0 gives nothing up until it is forgotten.
func NewOverlay[T client.Object](now clock.PassiveClock, unseen time.Duration) *Overlay[T] {
	return &Overlay[T]{clock: now, unseen: unseen, seen: map[types.NamespacedName]*seen[T]{}}
}

// Saw records what the API server answered to a write or a live read, unless something newer is known.
func (o *Overlay[T]) Saw(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.saw(object)
}

func (o *Overlay[T]) saw(object T) {
	key := client.ObjectKeyFromObject(object)
	known := o.seen[key]
	if known != nil && later(known.object, object) {
		return
	}
	listed, cached := o.listed[key]
	cached = cached && listed.GetUID() == object.GetUID() || known != nil && known.cached && known.object.GetUID() == object.GetUID()
	o.seen[key] = &seen[T]{object: object.DeepCopyObject().(T), since: o.clock.Now(), cached: cached}
}

// SawAll records the answer to a live list. What was seen before and is not in it is forgotten; what the cache has and
// is not in it stays, since caches may be asked by other rules than the API server.
func (o *Overlay[T]) SawAll(objects []T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.seen, func(_ types.NamespacedName, s *seen[T]) bool { return !s.deleted })
	for _, object := range objects {
		o.saw(object)
	}
}

// Deleted records that this process has deleted an object.
func (o *Overlay[T]) Deleted(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.seen[key]; known != nil {
		known.deleted, known.since = true, o.clock.Now()
	} else if listed, found := o.listed[key]; found {
		o.seen[key] = &seen[T]{object: listed, since: o.clock.Now(), cached: true, deleted: true}
	}
}

// Forget makes the Overlay trust the cache about an object.
func (o *Overlay[T]) Forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, key)
}

// Ahead reports whether anything is known that the cache lacked when it was asked last.
func (o *Overlay[T]) Ahead() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen) > 0
}

// Newest returns the object that the cache has, or a newer one. It reports false if the object was deleted.
func (o *Overlay[T]) Newest(cached T) (T, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.newest(cached)
}

func (o *Overlay[T]) newest(cached T) (none T, found bool) {
	key := client.ObjectKeyFromObject(cached)
	known := o.seen[key]
	switch {
	case known == nil:
		return cached, true
	case known.deleted && (known.object.GetUID() == cached.GetUID() || later(known.object, cached)):
		known.cached = known.cached || known.object.GetUID() == cached.GetUID()
		return none, false
	case !known.deleted && later(known.object, cached):
		known.cached = known.cached || known.object.GetUID() == cached.GetUID()
		return known.object.DeepCopyObject().(T), true
	default:
		delete(o.seen, key)
		return cached, true
	}
}

// List is all that the cache has, given as it lists it, with what is newer in its place, and what it lacks after it.
func (o *Overlay[T]) List(cached []T) []T {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listed = make(map[types.NamespacedName]T, len(cached))
	newest := make([]T, 0, len(cached)+len(o.seen))
	for _, object := range cached {
		o.listed[client.ObjectKeyFromObject(object)] = object
		if object, found := o.newest(object); found {
			newest = append(newest, object)
		}
	}
	return append(newest, o.lacking()...)
}

// lacking is what was seen and the cache has not had yet, by name.
func (o *Overlay[T]) lacking() []T {
	var lacking []T
	for key, known := range o.seen {
		_, listed := o.listed[key]
		switch {
		case listed:
		case known.cached, o.unseen > 0 && o.clock.Since(known.since) >= o.unseen:
			delete(o.seen, key)
		case !known.deleted:
			lacking = append(lacking, known.object.DeepCopyObject().(T))
		}
	}
	slices.SortFunc(lacking, func(a, b T) int {
		return strings.Compare(client.ObjectKeyFromObject(a).String(), client.ObjectKeyFromObject(b).String())
	})
	return lacking
}

// later reports whether a was read after b, which may be another object of its name. Where that can't be told the
// cache is right.
func later(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}
