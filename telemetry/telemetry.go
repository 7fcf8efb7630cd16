// Package telemetry watches releases and gates, and tells what happens to them: to metrics, traces
// and notices.
//
//	API server ──watch──► story.OfRelease, story.OfGate ──► Facts ──► Tellers
//
// What must hold:
//
//   - it writes nothing to the objects that it watches, and no release waits for it;
//   - only the process that holds the Lease tells: no fact is counted twice.
package telemetry

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// Teller receives facts, one call at a time. It must return at once, and do slow work in the
// background.
type Teller interface {
	Tell(facts []story.Fact)
}

// Forgetter is a Teller that keeps something of each release. It is told when the object of one is
// gone, after all facts about it.
type Forgetter interface {
	Forget(release types.UID)
}

// Watcher tells what happens, while this process holds the Lease.
type Watcher struct {
	cache   cache.Cache
	clock   clock.PassiveClock
	tellers []Teller
	// one at a time: releases and gates are seen side by side.
	one sync.Mutex
}

var _ manager.LeaderElectionRunnable = (*Watcher)(nil)

// NewWatcher makes a Watcher; the manager runs it.
func NewWatcher(objects cache.Cache, now clock.PassiveClock, tellers ...Teller) *Watcher {
	return &Watcher{cache: objects, clock: now, tellers: tellers}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w *Watcher) NeedLeaderElection() bool { return true }

// Start watches until ctx ends.
func (w *Watcher) Start(ctx context.Context) error {
	for object, handler := range map[client.Object]toolscache.ResourceEventHandler{
		&v1alpha1.BatchRelease{}: releases{w},
		&v1alpha1.Gate{}:         gates{w},
	} {
		informer, err := w.cache.GetInformer(ctx, object)
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		registered, err := informer.AddEventHandler(handler)
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		defer func() { _ = informer.RemoveEventHandler(registered) }()
	}
	<-ctx.Done()
	return nil
}

func (w *Watcher) tell(facts []story.Fact) {
	if len(facts) == 0 {
		return
	}
	w.one.Lock()
	defer w.one.Unlock()
	for _, teller := range w.tellers {
		teller.Tell(facts)
	}
}

// gone tells that the object of a release is gone.
func (w *Watcher) gone(last *v1alpha1.BatchRelease) {
	w.tell(story.Deleted(last, w.clock.Now()))
	w.one.Lock()
	defer w.one.Unlock()
	for _, teller := range w.tellers {
		if keeps, is := teller.(Forgetter); is {
			keeps.Forget(last.UID)
		}
	}
}

// releases handles what informers see of BatchReleases.
type releases struct{ *Watcher }

func (r releases) OnAdd(object any, initial bool) {
	if release, is := object.(*v1alpha1.BatchRelease); is && !initial {
		r.tell(story.Made(release, r.clock.Now()))
	}
}

func (r releases) OnUpdate(before, after any) {
	b, isBefore := before.(*v1alpha1.BatchRelease)
	a, isAfter := after.(*v1alpha1.BatchRelease)
	switch now := r.clock.Now(); {
	case !isBefore || !isAfter, b.ResourceVersion == a.ResourceVersion: // seen again
	case b.UID != a.UID: // the watch was interrupted, and another object has the name by now
		r.gone(b)
		r.tell(story.Made(a, now))
	default:
		r.tell(story.OfRelease(b, a, now))
	}
}

func (r releases) OnDelete(object any) {
	if gone, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = gone.Obj
	}
	if last, is := object.(*v1alpha1.BatchRelease); is {
		r.gone(last)
	}
}

// gates handles what informers see of Gates.
type gates struct{ *Watcher }

func (g gates) OnAdd(object any, initial bool) {
	if gate, is := object.(*v1alpha1.Gate); is && !initial {
		g.tell(story.OfGate(nil, gate, g.clock.Now()))
	}
}

func (g gates) OnUpdate(before, after any) {
	b, isBefore := before.(*v1alpha1.Gate)
	a, isAfter := after.(*v1alpha1.Gate)
	if isBefore && isAfter && b.ResourceVersion != a.ResourceVersion {
		g.tell(story.OfGate(b, a, g.clock.Now()))
	}
}

func (gates) OnDelete(any) {}
