package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/sluice-dev/sluice/dashboard/access"
)

// The bounds of what is read for pages at a time: a release can have many pods, and all that is
// read of it is in memory until its page is made.
const (
	readsAtOnce = 8
	// readsOfOneParty bounds the reads of one person, or of all service accounts of a namespace: a
	// person who loads many pages at once waits for their own.
	readsOfOneParty = readsAtOnce / 4
)

// reads are the places for what is read for pages.
type reads struct {
	places chan struct{}
	lock   sync.Mutex
	// parties are those who read or wait now: no more than there are requests.
	parties map[string]*party
}

// party is whose places count together.
type party struct {
	requests int
	places   chan struct{}
}

func newReads() *reads {
	return &reads{places: make(chan struct{}, readsAtOnce), parties: map[string]*party{}}
}

// take waits for a place, and returns what gives it back. It takes the person's own place first, so
// that a waiting person holds no place of others.
func (r *reads) take(ctx context.Context, viewer string) (func(), error) {
	own, leave := r.enter(cmp.Or(partyOf(viewer), viewer))
	if !wait(ctx, own.places) {
		leave()
		return nil, fmt.Errorf("wait for one's other pages: %w: %w", access.ErrBusy, ctx.Err())
	}
	if !wait(ctx, r.places) {
		<-own.places
		leave()
		return nil, fmt.Errorf("wait to read a release: %w: %w", access.ErrBusy, ctx.Err())
	}
	return func() {
		<-r.places
		<-own.places
		leave()
	}, nil
}

// enter returns a party, and what to call once it reads no more.
func (r *reads) enter(who string) (*party, func()) {
	r.lock.Lock()
	defer r.lock.Unlock()
	own := r.parties[who]
	if own == nil {
		own = &party{places: make(chan struct{}, readsOfOneParty)}
		r.parties[who] = own
	}
	own.requests++
	return own, func() {
		r.lock.Lock()
		defer r.lock.Unlock()
		if own.requests--; own.requests == 0 {
			delete(r.parties, who)
		}
	}
}

// wait takes a place, unless ctx ends before.
func wait(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}
