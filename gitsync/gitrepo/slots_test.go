package gitrepo

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// order has callers ask for a slot one after the other, and returns who gets one, in order, as
// slots come free.
func order(t *testing.T, s *Slots, askers []asker, held []func()) []asker {
	t.Helper()
	var mu sync.Mutex
	var served []asker
	var all sync.WaitGroup
	for _, who := range askers {
		all.Go(func() {
			release, err := s.Acquire(context.Background(), Caller{Tenant: who.tenant}, who.host)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			served = append(served, who)
			mu.Unlock()
			release()
		})
		synctest.Wait() // they wait in this order
	}
	for _, release := range held {
		release()
		synctest.Wait()
	}
	all.Wait()
	return served
}

// TestSlotsAreFair: who comes last is served first if others have more already.
func TestSlotsAreFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(16, 2, "a slot") // of which a tenant has 2
		var held []func()
		for i := range 16 {
			release := s.tryAcquire(asker{tenant: string(rune('a' + i/2)), host: string(rune('0' + i%2))})
			if release == nil {
				t.Fatalf("slot %d is not to be had", i)
			}
			held = append(held, release)
		}
		served := order(t, s, []asker{{"b", "2"}, {"b", "3"}, {"a", "4"}, {"z", "5"}, {"z", "5"}}, held)
		// The first that comes free is a's: a has one left, and z none.
		if served[0] != (asker{"z", "5"}) {
			t.Errorf("served %v, want z first", served)
		}
		if len(served) != 5 {
			t.Errorf("served %v, want all", served)
		}
	})
}

func TestSlotsOfATenantAndOfAServerAreLimited(t *testing.T) {
	t.Parallel()
	s := NewSlots(32, 4, "a slot") // a tenant has 4, a server of it 2
	var got int
	for range 10 {
		if s.TryAcquire(Caller{Tenant: "a"}, "hangs") != nil {
			got++
		}
	}
	if got != 2 {
		t.Errorf("a server got %d slots, want 2", got)
	}
	for _, host := range []string{"b", "c", "d", "e"} {
		if s.TryAcquire(Caller{Tenant: "a"}, host) != nil {
			got++
		}
	}
	if got != 4 {
		t.Errorf("a tenant got %d slots, want 4", got)
	}
	if s.TryAcquire(Caller{Tenant: "b"}, "hangs") == nil {
		t.Error("another tenant got none")
	}
}

// TestSlotsAreGivenBack: by who gives up waiting as well, and once only.
func TestSlotsAreGivenBack(t *testing.T) {
	t.Parallel()
	s := NewSlots(1, 1, "a slot")
	release := s.TryAcquire(Caller{}, "h")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Acquire(ctx, Caller{}, "h"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	release()
	release()
	if release = s.TryAcquire(Caller{}, "h"); release == nil {
		t.Fatal("the slot was not given back")
	}
	if s.TryAcquire(Caller{}, "h") != nil {
		t.Error("the slot was given back twice")
	}
}

// TestWaitingIsTold: to who waits for more than a moment, with what for.
func TestWaitingIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1, 1, "a slot")
		release := s.TryAcquire(Caller{Tenant: "a"}, "h")
		var told []string
		time.AfterFunc(time.Minute, release)
		mine, err := s.Acquire(t.Context(), Caller{Tenant: "b", Waits: func(what string) { told = append(told, what) }}, "h")
		if err != nil {
			t.Fatal(err)
		}
		mine()
		if len(told) != 1 || told[0] != "a slot" {
			t.Errorf("told %q, want once what is waited for", told)
		}
	})
}
