package kube

import (
	"cmp"
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

// Overlay lays objects that this process has written, or read live, over those of its cache, so
// that it reads its own writes: it never returns an object older than the last one seen, until the
// cache has caught up. Losing an Overlay costs requests and conflicts, nothing else. The zero value
// can't be used; any number of goroutines may use one at a time.
//
//   - An object that was seen replaces an older one of the cache of the same name, also one that
//     had the name before.
//   - An object that was seen and that the cache lacks is there, until the cache has had it.
//   - An object that was deleted is not there while the cache still has it. Another one of its name
//     is.
//
// An Overlay copies the objects that it sees, and returns copies of them; objects of the cache are
// returned as they are. There may be several Overlays for each release: once the cache has caught
// up, one holds no object and no map.
type Overlay[T client.Object] struct {
	clock  clock.PassiveClock
	unseen time.Duration

	mu sync.Mutex
	// seen is nil while it is empty.
	seen map[types.NamespacedName]*seen[T]
	// listed says what the cache had when it was listed last, by name. The objects themselves would
	// stay in memory when the cache has newer ones.
	listed []listed
}

// listed is an object that the cache had.
type listed struct {
	key types.NamespacedName
	identity
}

// identity is one version of one object.
type identity struct {
	uid     types.UID
	version string
}

func identityOf(object client.Object) identity {
	return identity{uid: object.GetUID(), version: object.GetResourceVersion()}
}

// later reports whether an object was read after another one, which may be one of its name. Where
// that can't be told the cache is right.
func (i identity) later(other identity) bool {
	order, err := resourceversion.CompareResourceVersion(i.version, other.version)
	return err == nil && order > 0
}

// seen is an object that the cache has not caught up with.
type seen[T client.Object] struct {
	identity
	// object is none if it was deleted.
	object T
	since  time.Time
	// cached says that the cache had the object in an older version: if it has none later on, the
	// object was deleted.
	cached bool
	// deleted says that this process has deleted the object, as it was last seen.
	deleted bool
}

// NewOverlay makes an empty Overlay. An object may come and go before the cache ever has it, and
// then no watch reports it: the Overlay drops an object that the cache still lacks after the time
// unseen. With 0 it drops nothing until it is forgotten.
func NewOverlay[T client.Object](now clock.PassiveClock, unseen time.Duration) *Overlay[T] {
	return &Overlay[T]{clock: now, unseen: unseen}
}

// Saw records what the API server answered to a write or a live read, unless something newer is
// known.
func (o *Overlay[T]) Saw(object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.saw(object)
}

func (o *Overlay[T]) saw(object T) {
	key, is := client.ObjectKeyFromObject(object), identityOf(object)
	known := o.seen[key]
	if known != nil && known.later(is) {
		return
	}
	had, cached := o.had(key)
	cached = cached && had.uid == is.uid || known != nil && known.cached && known.uid == is.uid
	o.note(key, &seen[T]{identity: is, object: object.DeepCopyObject().(T), since: o.clock.Now(), cached: cached})
}

func (o *Overlay[T]) note(key types.NamespacedName, s *seen[T]) {
	if o.seen == nil {
		o.seen = map[types.NamespacedName]*seen[T]{}
	}
	o.seen[key] = s
}

// drop forgets what was seen of a name. A map that is empty keeps its size, so that goes too.
func (o *Overlay[T]) drop(key types.NamespacedName) {
	if delete(o.seen, key); len(o.seen) == 0 {
		o.seen = nil
	}
}

// had returns what the cache had of a name when it was listed last.
func (o *Overlay[T]) had(key types.NamespacedName) (identity, bool) {
	i, found := slices.BinarySearchFunc(o.listed, key, func(l listed, key types.NamespacedName) int { return byName(l.key, key) })
	if !found {
		return identity{}, false
	}
	return o.listed[i].identity, true
}

func byName(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// SawAll records the answer to a live list. An object seen before that is not in it is forgotten;
// an object of the cache that is not in it stays, since a cache may select by other rules than the
// API server.
func (o *Overlay[T]) SawAll(objects []T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.seen, func(_ types.NamespacedName, s *seen[T]) bool { return !s.deleted })
	if len(o.seen) == 0 {
		o.seen = nil
	}
	for _, object := range objects {
		o.saw(object)
	}
}

// Deleted records that this process has deleted an object.
func (o *Overlay[T]) Deleted(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var none T
	if known := o.seen[key]; known != nil {
		known.object, known.deleted, known.since = none, true, o.clock.Now()
	} else if had, found := o.had(key); found {
		o.note(key, &seen[T]{identity: had, since: o.clock.Now(), cached: true, deleted: true})
	}
}

// Forget makes the Overlay trust the cache about an object.
func (o *Overlay[T]) Forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(key)
}

// Ahead reports whether anything is known that the cache lacked when it was asked last.
func (o *Overlay[T]) Ahead() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen) > 0
}

// CaughtUp reports whether the object, which the cache has by now, is the one that was seen last.
// The Overlay keeps that: a reader may have taken an older object from the cache a moment before.
func (o *Overlay[T]) CaughtUp(cached T) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.seen[client.ObjectKeyFromObject(cached)]
	return known != nil && !known.deleted && known.identity == identityOf(cached)
}

// Newest returns the object that the cache has, or a newer one. It reports false if the object was
// deleted.
func (o *Overlay[T]) Newest(cached T) (T, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.newest(cached)
}

func (o *Overlay[T]) newest(cached T) (none T, found bool) {
	key, has := client.ObjectKeyFromObject(cached), identityOf(cached)
	known := o.seen[key]
	switch {
	case known == nil:
		return cached, true
	case known.deleted && (known.uid == has.uid || known.later(has)):
		known.cached = known.cached || known.uid == has.uid
		return none, false
	case !known.deleted && known.later(has):
		known.cached = known.cached || known.uid == has.uid
		return known.object.DeepCopyObject().(T), true
	default:
		o.drop(key)
		return cached, true
	}
}

// List returns all that the cache has, given as it lists it, with what is newer in its place, and
// what it lacks after it.
func (o *Overlay[T]) List(cached []T) []T {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listed = nil
	if len(cached) > 0 {
		o.listed = make([]listed, 0, len(cached))
	}
	newest := make([]T, 0, len(cached)+len(o.seen))
	for _, object := range cached {
		o.listed = append(o.listed, listed{client.ObjectKeyFromObject(object), identityOf(object)})
		if object, found := o.newest(object); found {
			newest = append(newest, object)
		}
	}
	slices.SortFunc(o.listed, func(a, b listed) int { return byName(a.key, b.key) })
	return append(newest, o.lacking()...)
}

// lacking returns what was seen and the cache has not had yet, by name.
func (o *Overlay[T]) lacking() []T {
	var lacking []T
	for key, known := range o.seen {
		_, listed := o.had(key)
		switch {
		case listed:
		case known.cached, o.unseen > 0 && o.clock.Since(known.since) >= o.unseen:
			o.drop(key)
		case !known.deleted:
			lacking = append(lacking, known.object.DeepCopyObject().(T))
		}
	}
	slices.SortFunc(lacking, func(a, b T) int { return byName(client.ObjectKeyFromObject(a), client.ObjectKeyFromObject(b)) })
	return lacking
}
