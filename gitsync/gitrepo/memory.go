package gitrepo

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice-dev/sluice/internal/lru"
)

// memory is the limit for a Reader, of all repositories together:
//
//	data that a poll may unpack before it has to ask   256 KiB each, in the slots of polls
//	small, medium and large fetches, in lanes          three quarters of Options.MemoryBytes
//	heads that are kept to make the next fetch small   a quarter of it
//
// A fetch counts every byte before it takes it. It begins without a lane, so that a server which
// sends nothing delays nothing, and asks for the next lane when it has used up its own. If that has
// no room the fetch ends, and begins again once it has one: no fetch holds memory while it waits
// for more.
type memory struct {
	lanes []lane
	// heads are the snapshots that are kept between fetches.
	heads *lru.Cache[sourceKey, *Snapshot]
}

// lane is for fetches up to a size. There are as many slots as fit into the memory.
type lane struct {
	bytes int64
	slots *Slots
}

// unasked is what a fetch may hold without a lane.
const unasked = 256 << 10

func newMemory(opts Options) *memory {
	total, large := opts.MemoryBytes, opts.Limits.KeptBytes
	small, medium := min(2<<20, large), min(16<<20, large)
	room := max(total*3/4-large, 0) / 2
	smalls, mediums := slotsIn(room, small, opts.Fetches), slotsIn(room, medium, opts.Fetches)
	return &memory{
		lanes: []lane{
			{small, NewSlots(smalls, smalls/8, "memory to fetch a repository")},
			{medium, NewSlots(mediums, mediums/8, "memory to fetch a repository of more than "+bytesText(small))},
			{large, NewSlots(1, 1, "memory to fetch a repository of more than "+bytesText(medium))},
		},
		heads: lru.New[sourceKey, *Snapshot](total / 4),
	}
}

// laneFor returns the lane that a fetch of a size needs, -1 for none.
func (m *memory) laneFor(size int64) int {
	if size <= unasked {
		return -1
	}
	return slices.IndexFunc(m.lanes, func(l lane) bool { return l.bytes >= size })
}

func slotsIn(room, each int64, most int) int { return int(min(max(room/each, 1), int64(most))) }

// account counts the memory of one fetch, and of its snapshot.
type account struct {
	memory *memory
	who    asker
	limit  int64

	used int64
	// lane is the index of the lane that it has, -1 for none.
	lane    int
	release func()
}

// errOutgrown ends a fetch that needs a lane which has no room now.
var errOutgrown = errors.New("the next lane has no room")

// open makes an account in a lane, and waits for that.
func (m *memory) open(ctx context.Context, caller Caller, host string, lane int, limit int64) (*account, error) {
	release, err := m.lanes[lane].slots.Acquire(ctx, caller, host)
	if err != nil {
		return nil, err
	}
	return &account{memory: m, who: asker{caller.Tenant, host}, limit: limit, lane: lane, release: release}, nil
}

// spend takes n bytes more, before they are there. An account that is nil has no end.
func (a *account) spend(n int64) error {
	if a == nil {
		return nil
	}
	if a.used += n; a.used > a.limit {
		return newError(LimitExceeded, "the files of the repository are larger than the limit of %s", bytesText(a.limit))
	}
	for a.used > a.room() {
		release := a.memory.lanes[a.lane+1].slots.tryAcquire(a.who)
		if release == nil {
			return errOutgrown
		}
		a.release()
		a.release = release
		a.lane++
	}
	return nil
}

// room returns what it may use without asking.
func (a *account) room() int64 {
	if a.lane < 0 {
		return min(unasked, a.limit)
	}
	return a.memory.lanes[a.lane].bytes
}

// close gives back what it holds.
func (a *account) close() { a.release() }

// tryOpen returns open without waiting; nil if the lane has no room now.
func (m *memory) tryOpen(who asker, lane int, limit int64) *account {
	a := &account{memory: m, who: who, limit: limit, lane: lane, release: func() {}}
	if lane >= 0 {
		a.release = m.lanes[lane].slots.tryAcquire(who)
	}
	if a.release == nil {
		return nil
	}
	return a
}
