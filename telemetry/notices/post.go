package notices

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// post sends notices to one receiver, one at a time. Its fields are the desk's to lock, except
// those that never change.
type post struct {
	desk   *desk
	clock  clock.Clock
	logger logr.Logger
	wake   chan struct{}
	end    context.CancelFunc

	receiver *receiver
	client   *http.Client
	queue    queue
	// away says that the last request failed, which was logged.
	away bool
	// full says that notices were dropped, which was logged, and that the queue has not been empty
	// since.
	full bool
}

// add queues a notice.
func (p *post) add(one *pending) {
	if dropped := p.queue.add(one); dropped != nil {
		sent.WithLabelValues(p.receiver.name, resultDropped).Inc()
		if !p.full {
			p.logger.Info("Notices are dropped: the queue of the receiver is full", about(dropped)...)
		}
		p.full = true
	}
	waiting.WithLabelValues(p.receiver.name).Set(float64(p.queue.size()))
	p.rouse()
}

// rouse makes the post check its queue.
func (p *post) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run sends what is in the queue until stop ends. A request that has begun then is finished, unless
// kill ends, too.
func (p *post) run(stop, kill context.Context) {
	for stop.Err() == nil {
		next, wait := p.take()
		if next.one == nil {
			p.rest(stop, wait)
			continue
		}
		p.conclude(next.one, deliver(kill, next.client, next.receiver, next.one.pending, p.clock.Now()))
	}
}

// job is a notice to send, and how.
type job struct {
	one      *queued
	receiver *receiver
	client   *http.Client
}

// take returns the next job, or else how long to wait for one.
func (p *post) take() (job, time.Duration) {
	p.desk.lock.Lock()
	defer p.desk.lock.Unlock()
	one, wait := p.queue.take(p.clock.Now())
	p.full = p.full && p.queue.size() > 0
	return job{one, p.receiver, p.client}, wait
}

// rest waits for what is next.
func (p *post) rest(stop context.Context, wait time.Duration) {
	var due <-chan time.Time
	if wait >= 0 {
		timer := p.clock.NewTimer(wait)
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-stop.Done():
	case <-p.wake:
	case <-due:
	}
}

// conclude acts on an outcome.
func (p *post) conclude(one *queued, o outcome) {
	p.desk.lock.Lock()
	defer p.desk.lock.Unlock()
	result := resultDelivered
	switch {
	case o.delivered:
		p.queue.done()
		if p.away {
			p.logger.Info("Receiver accepts notices again")
		}
		p.away = false
	case o.final:
		p.queue.done()
		result = resultRefused
		p.logger.Info("Notice refused: "+o.words, about(one.pending)...)
	case p.queue.retry(p.clock.Now(), o.after, rand.Float64()): //nolint:gosec // G404: it only spreads requests
		result = resultDropped
		p.logger.Info("Notice dropped after an hour: "+o.words, about(one.pending)...)
	default:
		result = resultRetried
		if !p.away {
			p.logger.Info("Notice not delivered, trying again: "+o.words, about(one.pending)...)
		}
		p.away = true
	}
	if p.desk.posts[p.receiver.name] != p {
		return // it is not configured any more
	}
	sent.WithLabelValues(p.receiver.name, result).Inc()
	waiting.WithLabelValues(p.receiver.name).Set(float64(p.queue.size()))
	if result != resultRetried {
		p.desk.touch()
	}
}

// about returns a notice in a log.
func about(p *pending) []any {
	return []any{"kind", p.Notice.Kind, "release", p.Notice.name(), "id", p.ID}
}

// posts are the running posts.
type posts struct {
	desk   *desk
	clock  clock.Clock
	logger logr.Logger
	group  sync.WaitGroup
}

// arrange starts and stops posts for a configuration. A receiver that stays keeps its queue.
func (all *posts) arrange(stop, kill context.Context, receivers []*receiver, clients []*http.Client) {
	all.desk.lock.Lock()
	defer all.desk.lock.Unlock()
	wanted := map[string]bool{}
	for i, r := range receivers {
		wanted[r.name] = true
		if p, is := all.desk.posts[r.name]; is {
			p.client.CloseIdleConnections()
			p.receiver, p.client = r, clients[i]
			p.rouse()
			continue
		}
		all.start(stop, kill, r, clients[i])
	}
	for name, p := range all.desk.posts {
		if wanted[name] {
			continue
		}
		p.end()
		delete(all.desk.posts, name)
		forget(name)
		all.desk.touch()
	}
}

func (all *posts) start(stop, kill context.Context, r *receiver, client *http.Client) {
	stop, end := context.WithCancel(stop)
	p := &post{
		desk: all.desk, clock: all.clock, logger: all.logger.WithValues("receiver", r.name), wake: make(chan struct{}, 1), end: end,
		receiver: r, client: client,
	}
	all.desk.posts[r.name] = p
	open(r.name)
	all.group.Go(func() { p.run(stop, kill) })
}
