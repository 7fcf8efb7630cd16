package approvals

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
)

// written remembers what the API server answered to our own writes until the cache has it too, so
// that nothing is asked of a forge again only because the cache is late. Losing it costs requests,
// nothing else.
type written[T client.Object] struct {
	mu  sync.Mutex
	all map[types.UID]T
}

func newWritten[T client.Object]() *written[T] { return &written[T]{all: map[types.UID]T{}} }

// newest returns what was written if that is newer than what the cache has.
func (w *written[T]) newest(cached T) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	own, found := w.all[cached.GetUID()]
	if !found {
		return cached
	}
	if !kube.Newer(own, cached) {
		delete(w.all, cached.GetUID())
		return cached
	}
	return own.DeepCopyObject().(T)
}

// keep remembers an object as it was written. One that is about to go is of no use to anybody.
func (w *written[T]) keep(object T) {
	if object.GetDeletionTimestamp() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[object.GetUID()] = object.DeepCopyObject().(T)
}
