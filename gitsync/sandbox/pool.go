package sandbox

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// DefaultProcesses is how many processes a pool has at a time. With the memory of each, they are
// what all sources together may take beside the controller itself.
const DefaultProcesses = 2

// DefaultLimits returns the default limits on one process.
func DefaultLimits() Limits {
	return Limits{Time: 10 * time.Second, Memory: 128 << 20, Bytes: 16 << 20, Total: time.Minute}
}

// wallFactor bounds the wall time of a process, as a multiple of its processor time: it shares its
// processors.
const wallFactor = 12

// leastWall is the time by the clock that any process may take: a busy machine may leave it little
// of its processors for a while.
const leastWall = 2 * time.Minute

// Options of a Pool.
type Options struct {
	// Processes at a time. Default DefaultProcesses.
	Processes int
	// Limits on each; zero fields take the defaults.
	Limits Limits
}

// Owner is on whose behalf something runs.
type Owner struct{ Tenant, Source string }

// Pool gives processes to sources that wait for one. The source that used the least time lately is
// next, first among tenants and then among the sources of a tenant, so that a tenant with many or
// slow ones waits behind all others. A source that was slow lately never gets the last free
// process.
type Pool struct {
	limits    Limits
	processes int

	mu      sync.Mutex
	running int
	// slow is how many of those that run belong to a source that was slow lately.
	slow    int
	waiting []*ticket
	// spent is the time that tenants, as owners without a source, and sources took lately.
	spent  map[Owner]time.Duration
	halved time.Time
}

// ticket is of one who waits.
type ticket struct {
	owner Owner
	// turn is closed when it is theirs.
	turn chan struct{}
	slow bool
}

// NewPool makes a pool of processes that all have the same limits. Zero values take the defaults.
func NewPool(options Options) *Pool {
	normal, limits := DefaultLimits(), options.Limits
	limits.Time = cmp.Or(limits.Time, normal.Time)
	return &Pool{
		processes: cmp.Or(options.Processes, DefaultProcesses),
		limits: Limits{
			Time:   limits.Time,
			Wall:   cmp.Or(limits.Wall, max(wallFactor*limits.Time, leastWall)),
			Memory: cmp.Or(limits.Memory, normal.Memory),
			Bytes:  cmp.Or(limits.Bytes, normal.Bytes),
			Total:  cmp.Or(limits.Total, normal.Total),
		},
		spent: map[Owner]time.Duration{},
	}
}

// Limits returns the limits on each process.
func (p *Pool) Limits() Limits { return p.limits }

// run serves the input in a process, when it is the owner's turn, and returns the processor time
// that it took. The wall-clock time counts for the next turn: others wait as long.
func (p *Pool) run(ctx context.Context, owner Owner, input []byte) ([]byte, time.Duration, error) {
	mine, err := p.acquire(ctx, owner)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	output, took, err := run(ctx, p.limits, input)
	p.release(mine, time.Since(began))
	return output, took, err
}

func (p *Pool) acquire(ctx context.Context, owner Owner) (*ticket, error) {
	mine := &ticket{owner: owner, turn: make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, mine)
	p.dispatch()
	p.mu.Unlock()
	select {
	case <-mine.turn:
		return mine, nil
	case <-ctx.Done():
		p.giveUp(mine)
		return nil, ctx.Err()
	}
}

// giveUp takes a ticket back, and the turn that came meanwhile.
func (p *Pool) giveUp(mine *ticket) {
	p.mu.Lock()
	for i, other := range p.waiting {
		if other == mine {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			p.mu.Unlock()
			return
		}
	}
	p.mu.Unlock()
	p.release(mine, 0)
}

func (p *Pool) release(done *ticket, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
	p.running--
	if done.slow {
		p.slow--
	}
	p.spent[done.owner] += took
	p.spent[Owner{Tenant: done.owner.Tenant}] += took
	p.dispatch()
}

// memory is the time after which what was spent counts half.
const memory = time.Minute

// negligible is what is forgotten of what was spent.
const negligible = time.Millisecond

// forget halves what was spent, as often as it is time to.
func (p *Pool) forget() {
	now := time.Now()
	for ; now.Sub(p.halved) >= memory && len(p.spent) > 0; p.halved = p.halved.Add(memory) {
		for owner, spent := range p.spent {
			if p.spent[owner] = spent / 2; spent < negligible {
				delete(p.spent, owner)
			}
		}
	}
	if len(p.spent) == 0 {
		p.halved = now
	}
}

// dispatch gives what is free to those whose turn it is.
func (p *Pool) dispatch() {
	for p.running < p.processes {
		i := p.next()
		if i < 0 {
			return
		}
		chosen := p.waiting[i]
		p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
		p.running++
		if chosen.slow = p.isSlow(chosen.owner); chosen.slow {
			p.slow++
		}
		close(chosen.turn)
	}
}

// next returns the place in the queue of who is next, -1 if nobody is.
func (p *Pool) next() int {
	best := -1
	for i, t := range p.waiting {
		if p.isSlow(t.owner) && p.slow >= max(1, p.processes-1) {
			continue
		}
		if best < 0 || p.compare(t.owner, p.waiting[best].owner) < 0 {
			best = i
		}
	}
	return best
}

// compare says who of two took less time.
func (p *Pool) compare(a, b Owner) int {
	return cmp.Or(
		cmp.Compare(p.spent[Owner{Tenant: a.Tenant}], p.spent[Owner{Tenant: b.Tenant}]),
		cmp.Compare(p.spent[a], p.spent[b]),
	)
}

// isSlow reports whether a source took a good part of what one process may lately.
func (p *Pool) isSlow(owner Owner) bool { return p.spent[owner] > p.limits.Time/8 }
