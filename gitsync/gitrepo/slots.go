package gitrepo

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Caller says for whom something is read, so that nobody has to wait for what somebody else's
// servers do.
type Caller struct {
	// Tenant shares what there is with other tenants in equal parts: the namespace of a source.
	Tenant string
	// Waits is called with what is waited for, when that takes longer than a moment. It may be nil.
	Waits func(what string)
}

// asker identifies a request for a slot: a tenant, for one of its servers.
type asker struct{ tenant, host string }

// Slots bound how many do something at once, and no tenant can have them all, nor one server all of
// a tenant's. Of those who wait that one is next whose tenant has fewest, then whose server has,
// then who came first.
type Slots struct {
	what               string
	perTenant, perHost int

	mu      sync.Mutex
	free    int
	tenants map[string]int
	hosts   map[asker]int
	waiting []*waiter
}

type waiter struct {
	who asker
	// granted is closed once the slot is theirs.
	granted chan struct{}
}

// NewSlots makes n slots, with a limit for each tenant, and half of it for each of its servers. The
// text describes the slots to users who wait.
func NewSlots(n, perTenant int, what string) *Slots {
	perTenant = max(1, perTenant)
	return &Slots{what: what, free: n, perTenant: perTenant, perHost: max(1, perTenant/2), tenants: map[string]int{}, hosts: map[asker]int{}}
}

// moment is how long a wait is not worth telling.
const moment = 3 * time.Second

// Acquire waits for a slot for a caller and one of its servers, until ctx ends. The slot has to be
// released.
func (s *Slots) Acquire(ctx context.Context, caller Caller, host string) (release func(), err error) {
	return s.acquire(ctx, asker{caller.Tenant, host}, caller.Waits)
}

// TryAcquire returns Acquire without waiting; nil if there is no slot now.
func (s *Slots) TryAcquire(caller Caller, host string) (release func()) {
	return s.tryAcquire(asker{caller.Tenant, host})
}

func (s *Slots) acquire(ctx context.Context, who asker, waits func(string)) (func(), error) {
	w := &waiter{who: who, granted: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.grant()
	s.mu.Unlock()
	patience := time.NewTimer(moment)
	defer patience.Stop()
	for {
		select {
		case <-w.granted:
			return s.releaser(who), nil
		case <-patience.C:
			if waits != nil {
				waits(s.what)
			}
		case <-ctx.Done():
			return nil, s.leave(w, ctx.Err())
		}
	}
}

// leave gives up waiting.
func (s *Slots) leave(w *waiter, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, w); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		return err
	}
	s.giveBack(w.who) // it was granted meanwhile
	return err
}

func (s *Slots) tryAcquire(who asker) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 && s.next() >= 0 || !s.available(who) {
		return nil
	}
	s.take(who)
	return s.releaser(who)
}

func (s *Slots) releaser(who asker) func() {
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.giveBack(who)
	})
}

func (s *Slots) giveBack(who asker) {
	s.free++
	s.count(who, -1)
	s.grant()
}

// grant gives what is free to who is next. It is called whenever there may be something to give.
func (s *Slots) grant() {
	for i := s.next(); i >= 0; i = s.next() {
		s.take(s.waiting[i].who)
		close(s.waiting[i].granted)
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
}

// next returns the index of who is next among those who may have a slot now, -1 if there is none.
func (s *Slots) next() int {
	best := -1
	for i, w := range s.waiting {
		if s.available(w.who) && (best < 0 || s.compare(w.who, s.waiting[best].who) < 0) {
			best = i
		}
	}
	return best
}

func (s *Slots) compare(a, b asker) int {
	return cmp.Or(
		cmp.Compare(s.tenants[a.tenant], s.tenants[b.tenant]),
		cmp.Compare(s.hosts[a], s.hosts[b]),
	)
}

func (s *Slots) available(who asker) bool {
	return s.free > 0 && s.tenants[who.tenant] < s.perTenant && s.hosts[who] < s.perHost
}

func (s *Slots) take(who asker) {
	s.free--
	s.count(who, 1)
}

func (s *Slots) count(who asker, change int) {
	if s.tenants[who.tenant] += change; s.tenants[who.tenant] == 0 {
		delete(s.tenants, who.tenant)
	}
	if s.hosts[who] += change; s.hosts[who] == 0 {
		delete(s.hosts, who)
	}
}
