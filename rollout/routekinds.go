package rollout

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// servedAgain is after how long to ask again for a kind that the API server does not serve. A watch
// of its definition would tell, but takes a right in the whole cluster: where nobody asks for
// traffic, nobody asks for the kind.
const servedAgain = 15 * time.Second

// confirmedAfter is how long after the API server has first said that it does not serve a kind it
// has to say so again: one of several servers may not know yet, or no longer, what the others do.
const confirmedAfter = 2 * time.Second

// kinds knows which kinds the API server serves, and watches those that it was asked for. While one
// goroutine asks the API server, others go on with what is known.
type kinds struct {
	// ask asks the API server for a kind. open makes what watches one that it serves, and has lost
	// called when it can't any more. tell has the releases looked at that this may concern.
	ask  func(context.Context, schema.GroupVersionKind) (answer, error)
	open func(kind schema.GroupVersionKind, resource *metav1.APIResource, lost func()) (*life, error)
	tell func()

	clock clock.PassiveClock

	mu    sync.Mutex
	known map[schema.GroupVersionKind]*knownKind
}

// answer holds the API server's answer about a kind: the resource that serves it, or nil if this
// version has none; elsewhere says that another version serves it.
type answer struct {
	resource  *metav1.APIResource
	elsewhere bool
}

// knownKind is a kind that was asked for.
type knownKind struct {
	// life is nil while the kind is not served, as far as is known.
	life *life
	// asking says that somebody asks the API server now.
	asking bool
	// misses is how often in a row the API server has said that it does not serve the kind, asked when
	// it did last, and elsewhere what else it said.
	misses    int
	asked     time.Time
	elsewhere bool
}

// life represents one watch of a kind, which ends when the API server does not serve the kind any
// more. Its objects say nothing about a kind that comes again.
type life struct {
	reader client.Reader
	synced func() bool
	start  func()
	stop   func()
}

// seenKind holds the reader of all objects of a kind. Without a reader, the API server does not
// serve the kind in this version; gone says that no version is served, so that it has no objects.
type seenKind struct {
	reader client.Reader
	gone   bool
}

func newKinds(
	now clock.PassiveClock,
	ask func(context.Context, schema.GroupVersionKind) (answer, error),
	open func(schema.GroupVersionKind, *metav1.APIResource, func()) (*life, error),
	tell func(),
) *kinds {
	return &kinds{clock: now, ask: ask, open: open, tell: tell, known: map[schema.GroupVersionKind]*knownKind{}}
}

// of returns what can be seen of a kind. It returns errUnseen where that is still to come: a watch
// has not seen all objects yet, or the API server has said only once that it does not serve the
// kind.
func (k *kinds) of(ctx context.Context, kind schema.GroupVersionKind) (seenKind, error) {
	if k.turn(kind) {
		if err := k.find(ctx, kind, 1); err != nil {
			return seenKind{}, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.known[kind]
	switch {
	case known.life != nil && known.life.synced():
		return seenKind{reader: known.life.reader}, nil
	case known.life == nil && known.misses > 1:
		return seenKind{gone: !known.elsewhere}, nil
	default:
		return seenKind{}, errUnseen
	}
}

// turn reports whether the API server has to tell of a kind now, and notes it.
func (k *kinds) turn(kind schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.known[kind]
	if known == nil {
		known = &knownKind{}
		k.known[kind] = known
	}
	if known.life != nil || known.asking {
		return false
	}
	since := k.clock.Since(known.asked)
	if known.misses == 1 && since < confirmedAfter || known.misses > 1 && since < servedAgain {
		return false
	}
	known.asking = true
	return true
}

// begin watches a kind if it is served. If it is not, that says nothing yet.
func (k *kinds) begin(ctx context.Context, kind schema.GroupVersionKind) error {
	k.turn(kind)
	return k.find(ctx, kind, 0)
}

// find asks the API server for a kind, and watches it if it is served; if not, that counts as so
// many misses. The turn keeps other callers from asking meanwhile. A failure leaves nothing behind,
// so that find can be repeated.
func (k *kinds) find(ctx context.Context, kind schema.GroupVersionKind, miss int) error {
	is, err := k.ask(ctx, kind)
	var opened *life
	if err != nil {
		err = fmt.Errorf("find out whether %s is served: %w", kind.Kind, err)
	} else if is.resource != nil {
		if opened, err = k.open(kind, is.resource, func() { k.lost(kind, opened) }); err != nil {
			err = fmt.Errorf("watch %s: %w", kind.Kind, err)
		}
	}
	k.mu.Lock()
	known := k.known[kind]
	known.asking = false
	switch {
	case err != nil:
	case opened != nil:
		*known = knownKind{life: opened}
	default:
		known.misses, known.asked, known.elsewhere = known.misses+miss, k.clock.Now(), is.elsewhere
	}
	k.mu.Unlock()
	if err == nil && opened != nil {
		opened.start() // and may be lost from now on
	}
	return err
}

// lost ends a life: no more events of its objects come. The API server is asked again at once.
func (k *kinds) lost(kind schema.GroupVersionKind, ended *life) {
	k.mu.Lock()
	known := k.known[kind]
	was := known.life == ended
	if was {
		*known = knownKind{}
	}
	k.mu.Unlock()
	if was {
		ended.stop()
		k.tell()
	}
}

// now returns what is seen of a kind without asking for it; no reader if nobody has, or not all is
// seen.
func (k *kinds) now(kind schema.GroupVersionKind) seenKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.known[kind]; known != nil && known.life != nil && known.life.synced() {
		return seenKind{reader: known.life.reader}
	}
	return seenKind{}
}

func routeOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}
