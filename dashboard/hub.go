package dashboard

import (
	"context"
	"fmt"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// change is an object that has changed.
type change struct{ kind, namespace, name string }

// What can change.
const (
	kindRelease = "release"
	kindSource  = "source"
)

// hub tells streams what has changed.
type hub struct {
	lock    sync.Mutex
	streams map[*listener]struct{}
}

// listener is woken by the changes that it wants. Several changes before it wakes count as one.
type listener struct {
	wants func(change) bool
	woken chan struct{}
}

func (l *listener) wake() {
	select {
	case l.woken <- struct{}{}:
	default: // it will look anyway
	}
}

func newHub() *hub { return &hub{streams: map[*listener]struct{}{}} }

// listen registers a listener until the returned function is called.
func (h *hub) listen(wants func(change) bool) (*listener, func()) {
	l := &listener{wants: wants, woken: make(chan struct{}, 1)}
	h.lock.Lock()
	defer h.lock.Unlock()
	h.streams[l] = struct{}{}
	return l, func() {
		h.lock.Lock()
		defer h.lock.Unlock()
		delete(h.streams, l)
	}
}

func (h *hub) publish(c change) {
	h.lock.Lock()
	defer h.lock.Unlock()
	for l := range h.streams {
		if l.wants(c) {
			l.wake()
		}
	}
}

// hear notifies the hub and the board of changes of a kind until ctx ends.
func (d *Dashboard) hear(ctx context.Context, object client.Object, kind string) error {
	informer, err := d.options.Objects.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	registered, err := informer.AddEventHandler(heard{d, kind})
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registered) })
	return nil
}

// heard handles what informers see of one kind.
type heard struct {
	*Dashboard

	kind string
}

func (h heard) OnAdd(object any, _ bool) { h.changed(object) }
func (h heard) OnUpdate(before, object any) {
	was, is := before.(client.Object), object.(client.Object)
	if was.GetResourceVersion() != is.GetResourceVersion() { // a resync changes nothing
		h.changed(object)
	}
}
func (h heard) OnDelete(object any) { h.changed(object) }

func (h heard) changed(object any) {
	if gone, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = gone.Obj
	}
	changed, is := object.(client.Object)
	if !is {
		return
	}
	if h.kind == kindRelease {
		h.board.stale.Store(true)
	}
	h.hub.publish(change{h.kind, changed.GetNamespace(), changed.GetName()})
}
