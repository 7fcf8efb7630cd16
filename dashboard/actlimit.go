package dashboard

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice-dev/sluice/internal/lru"
)

// How many forms a viewer may send: a person who clicks in an emergency stays below these limits.
const (
	actsPerSecond = 1
	actsBurst     = 15
	maxActors     = 4096
	// maxForms is how many recent forms are remembered.
	maxForms = 4096
	// maxSimulations is how many simulations run at the same time: each keeps a processor busy. One
	// party has one of them at most.
	maxSimulations = 2
)

// acting bounds what viewers do, and remembers the forms that they have sent.
type acting struct {
	lock sync.Mutex
	// limits are by viewer, sent by viewer, address and form.
	limits *lru.Cache[string, *rate.Limiter]
	sent   *lru.Cache[string, *sending]
	// simulating are the parties whose simulation runs.
	simulating map[string]bool
}

// sending is a form that is being processed, or was processed.
type sending struct {
	over chan struct{}
	// came is the result; nil if it failed.
	came *told
}

func newActing() *acting {
	return &acting{
		limits: lru.New[string, *rate.Limiter](maxActors), sent: lru.New[string, *sending](maxForms),
		simulating: map[string]bool{},
	}
}

// allow reports whether a viewer may send a form now.
func (a *acting) allow(viewer string, now time.Time) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	limit := a.limits.Get(viewer)
	if limit == nil {
		limit = rate.NewLimiter(actsPerSecond, actsBurst)
		a.limits.Put(viewer, limit, 1)
	}
	return limit.AllowN(now, 1)
}

// once performs the action of a form once: a form that is sent twice, by a double click or a
// reload, waits for the first and returns its result. A form that failed may be sent again.
func (a *acting) once(ctx context.Context, form string, do func() (told, error)) (told, error) {
	for {
		mine, first := a.send(form)
		if first {
			return a.dealWith(form, mine, do)
		}
		select {
		case <-ctx.Done():
			return told{}, ctx.Err()
		case <-mine.over:
		}
		if mine.came != nil {
			came := *mine.came
			if came.outcome == written {
				came.outcome = again
			}
			return came, nil
		}
	}
}

// send reports whether a form is sent for the first time.
func (a *acting) send(form string) (*sending, bool) {
	a.lock.Lock()
	defer a.lock.Unlock()
	if before := a.sent.Get(form); before != nil {
		return before, false
	}
	mine := &sending{over: make(chan struct{})}
	a.sent.Put(form, mine, 1)
	return mine, true
}

func (a *acting) dealWith(form string, mine *sending, do func() (told, error)) (told, error) {
	defer func() {
		if mine.came == nil { // also where it panics
			a.sent.Take(form)
		}
		close(mine.over)
	}()
	came, err := do()
	if err != nil {
		return told{}, err
	}
	mine.came = &came
	return came, nil
}

// simulate runs a simulation for a viewer, if there is a place for it. Each viewer has one, so that
// no viewer takes all places. Service accounts of a namespace have one together.
func (a *acting) simulate(viewer string, run func()) bool {
	party := cmp.Or(partyOf(viewer), viewer)
	if !a.beginSimulation(party) {
		return false
	}
	defer a.endSimulation(party) // also where it panics
	run()
	return true
}

func (a *acting) beginSimulation(party string) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.simulating[party] || len(a.simulating) >= maxSimulations {
		return false
	}
	a.simulating[party] = true
	return true
}

func (a *acting) endSimulation(party string) {
	a.lock.Lock()
	defer a.lock.Unlock()
	delete(a.simulating, party)
}
