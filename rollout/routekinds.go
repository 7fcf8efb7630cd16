package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrKindsChanged ends a controller with traffic once the API server serves a kind of route that
// was missing at the start, or no longer serves a kind that it served then. The next start watches
// every kind that is served.
var ErrKindsChanged = errors.New("restart to watch every kind of route that the API server serves now")

// servedAgain is the time until the API server is asked again for a kind that it does not serve. A
// watch of its definition would need permission in the whole cluster. Without traffic nothing asks.
const servedAgain = 15 * time.Second

// confirmedAfter is the time after which the API server has to repeat that it does not serve a
// kind: of several servers, one may not know yet, or no longer, what the others do.
const confirmedAfter = 2 * time.Second

// routeKinds holds a cache for each kind that the API server served at the start, and checks other
// kinds when a release needs them.
type routeKinds struct {
	// ask asks the API server for a kind, and restart ends the controller.
	ask     func(context.Context, schema.GroupVersionKind) (answer, error)
	restart func(error)
	clock   clock.PassiveClock
	// served holds the cache of each kind that was served at the start.
	served map[schema.GroupVersionKind]client.Reader

	mu    sync.Mutex
	known map[schema.GroupVersionKind]*knownKind
}

// answer holds the API server's answer about a kind: whether it serves this version, or another
// one.
type answer struct{ served, elsewhere bool }

// knownKind holds the last answers about a kind.
type knownKind struct {
	// asking marks a kind for which a goroutine asks the API server now.
	asking bool
	// misses counts the answers in a row that the kind is not served, asked is the time of the last,
	// and elsewhere marks a kind that another version serves.
	misses    int
	asked     time.Time
	elsewhere bool
}

// seenKind holds the reader of all objects of a kind. Without a reader, the API server does not
// serve the kind in this version; gone marks a kind that it serves in no version, so that it has no
// objects.
type seenKind struct {
	reader client.Reader
	gone   bool
}

func newKinds(now clock.PassiveClock, ask func(context.Context, schema.GroupVersionKind) (answer, error), restart func(error)) *routeKinds {
	return &routeKinds{
		clock: now, ask: ask, restart: restart,
		served: map[schema.GroupVersionKind]client.Reader{}, known: map[schema.GroupVersionKind]*knownKind{},
	}
}

// of returns what can be seen of a kind. It returns errUnseen while the API server has said only
// once that it does not serve the kind, and while the controller ends.
func (k *routeKinds) of(ctx context.Context, kind schema.GroupVersionKind) (seenKind, error) {
	if reader := k.served[kind]; reader != nil {
		return seenKind{reader: reader}, nil
	}
	if err := k.check(ctx, kind); err != nil {
		return seenKind{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.known[kind]; known.misses > 1 {
		return seenKind{gone: !known.elsewhere}, nil
	}
	return seenKind{}, errUnseen
}

// now returns the reader of a kind without a request; none if the kind was not served at the start.
func (k *routeKinds) now(kind schema.GroupVersionKind) seenKind {
	return seenKind{reader: k.served[kind]}
}

// check asks the API server for a kind when it is time, and restarts the controller if the answer
// is not that of the start. While one goroutine asks, others go on with what is known.
func (k *routeKinds) check(ctx context.Context, kind schema.GroupVersionKind) error {
	if !k.turn(kind) {
		return nil
	}
	is, err := k.ask(ctx, kind)
	if err != nil {
		err = fmt.Errorf("find out whether %s is served: %w", kind.Kind, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known, before := k.known[kind], k.served[kind] != nil
	known.asking = false
	switch {
	case err != nil:
	case !is.served:
		known.misses, known.asked, known.elsewhere = known.misses+1, k.clock.Now(), is.elsewhere
		if before && known.misses > 1 {
			k.restart(fmt.Errorf("the API server no longer serves %ss of %s: %w", kind.Kind, kind.GroupVersion(), ErrKindsChanged))
		}
	default:
		known.misses = 0
		if !before {
			k.restart(fmt.Errorf("the API server serves %ss of %s now: %w", kind.Kind, kind.GroupVersion(), ErrKindsChanged))
		}
	}
	return err
}

// turn reports whether to ask the API server for a kind now, and notes it.
func (k *routeKinds) turn(kind schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.known[kind]
	if known == nil {
		known = &knownKind{}
		k.known[kind] = known
	}
	since := k.clock.Since(known.asked)
	if known.asking || known.misses == 1 && since < confirmedAfter || known.misses > 1 && since < servedAgain {
		return false
	}
	known.asking = true
	return true
}

// lost checks every kind that was served at the start, after the watch of one has failed. The watch
// is repeated, and so is the check.
func (k *routeKinds) lost(ctx context.Context) {
	for kind := range k.served {
		_ = k.check(ctx, kind) // the watch says what fails
	}
}
