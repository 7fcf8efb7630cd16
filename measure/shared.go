package measure

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Shared asks servers on behalf of many callers. Callers that ask the same of a server within an
// interval share one query and its answer. It is safe for concurrent use.
type Shared struct {
	clock clock.PassiveClock

	// large has room for the large answers of all tenants.
	large chan struct{}

	mu      sync.Mutex
	servers map[string]*asked
	tenants map[string]*tenant
	swept   time.Time
	kept    int // series of all answers
}

// tenant holds what the servers of a tenant share.
type tenant struct {
	turns, large  chan struct{}
	servers, kept int
}

// asked holds the questions to one server.
type asked struct {
	of      string
	tenant  *tenant
	turns   chan struct{}
	answers map[Question]*pending
	// asking counts the questions without an answer, of past intervals as well.
	asking int
	kept   int // series of its answers
}

// Question is a query to a server. Callers that may not share credentials give other servers.
type Question struct {
	// Tenant names who pays for the answer: no tenant can use up what all have.
	Tenant string
	// Server names the server with the version of its settings: their change makes another one.
	Server string
	// Query is the text of the query.
	Query string
	// Interval is the time for which an answer is good; more than 0. Intervals begin at its multiples.
	Interval time.Duration
}

// Reading is an answer with the time at which it was requested.
type Reading struct {
	Answer
	At time.Time
}

// pending is a reading that some callers may still wait for.
type pending struct {
	interval time.Time // its begin
	done     chan struct{}
	reading  Reading
	err      error
	// kept counts the series of the answer, while it is kept.
	kept    int
	dropped bool
}

const (
	// queriesOfServer and queriesOfTenant are the numbers of queries at a time.
	queriesOfServer = 4
	queriesOfTenant = 8
	// largeOfTenant and largeOfAll are the numbers of large answers that are read at a time. Each
	// takes up to 130 MiB while it is decoded.
	largeOfTenant = 1
	largeOfAll    = 4
	// seriesOfServer, seriesOfTenant and seriesOfAll bound the series that are kept in memory.
	seriesOfServer = 20_000
	seriesOfTenant = 30_000
	seriesOfAll    = 8 * seriesOfTenant
	// sweepAgain is the time between two sweeps of answers of the past.
	sweepAgain = 10 * time.Second
)

// NewShared returns a Shared that has asked nothing yet.
func NewShared(now clock.PassiveClock) *Shared {
	return &Shared{clock: now, large: make(chan struct{}, largeOfAll), servers: map[string]*asked{}, tenants: map[string]*tenant{}}
}

// Read returns the answer of the present interval. The first caller of an interval asks, and its
// own end does not end the query for the others. Errors are shared like answers.
func (s *Shared) Read(ctx context.Context, q Question, ask func(context.Context) (Answer, error)) (Reading, error) {
	p, server := s.of(q)
	if server != nil {
		go s.ask(context.WithoutCancel(ctx), p, server, ask)
	}
	select {
	case <-p.done:
		return p.reading, p.err
	case <-ctx.Done():
		return Reading{}, ctx.Err()
	}
}

// of returns the reading of the present interval. To its first caller it returns the server too.
func (s *Shared) of(q Question) (*pending, *asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if now.Sub(s.swept) >= sweepAgain {
		s.sweep(now)
	}
	server := s.server(q)
	interval := now.Truncate(q.Interval)
	if known := server.answers[q]; known != nil && !known.interval.Before(interval) {
		return known, nil
	}
	s.drop(server, q)
	p := &pending{interval: interval, done: make(chan struct{})}
	server.answers[q] = p
	server.asking++
	return p, server
}

// server returns the questions to the server of a question.
func (s *Shared) server(q Question) *asked {
	if known := s.servers[q.Server]; known != nil {
		return known
	}
	t := s.tenants[q.Tenant]
	if t == nil {
		t = &tenant{turns: make(chan struct{}, queriesOfTenant), large: make(chan struct{}, largeOfTenant)}
		s.tenants[q.Tenant] = t
	}
	t.servers++
	s.servers[q.Server] = &asked{of: q.Tenant, tenant: t, turns: make(chan struct{}, queriesOfServer), answers: map[Question]*pending{}}
	return s.servers[q.Server]
}

// sweep drops the answers of past intervals, and servers that have none and are asked for none.
func (s *Shared) sweep(now time.Time) {
	s.swept = now
	for name, server := range s.servers {
		for q, p := range server.answers {
			if p.interval.Before(now.Truncate(q.Interval)) {
				s.drop(server, q)
			}
		}
		if len(server.answers) > 0 || server.asking > 0 {
			continue
		}
		delete(s.servers, name)
		if server.tenant.servers--; server.tenant.servers == 0 {
			delete(s.tenants, server.of)
		}
	}
}

// ask asks the server for all callers of an interval.
func (s *Shared) ask(ctx context.Context, p *pending, server *asked, ask func(context.Context) (Answer, error)) {
	server.turns <- struct{}{}
	server.tenant.turns <- struct{}{}
	at, room := s.clock.Now(), &room{of: []chan struct{}{server.tenant.large, s.large}}
	answer, err := ask(context.WithValue(ctx, roomKey{}, room))
	room.free()
	<-server.tenant.turns
	<-server.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	server.asking--
	weight := answer.weight()
	if full := s.full(server, weight); err == nil && full != nil {
		answer, err = Answer{}, full
	} else if err == nil && !p.dropped {
		p.kept = weight
		s.keep(server, weight)
	}
	answer.index = &index{of: map[string]ByLabel{}}
	p.reading, p.err = Reading{answer, at}, err
	close(p.done)
}

// drop forgets the answer to a question, if there is one.
func (s *Shared) drop(server *asked, q Question) {
	if p := server.answers[q]; p != nil {
		p.dropped = true
		s.keep(server, -p.kept)
		delete(server.answers, q)
	}
}

// keep counts more series that are kept of a server, or less.
func (s *Shared) keep(server *asked, series int) {
	server.kept += series
	server.tenant.kept += series
	s.kept += series
}

// full returns an error if an answer of a server is too large to be kept beside the others.
func (s *Shared) full(server *asked, weight int) error {
	switch {
	case server.kept+weight > seriesOfServer:
		return failed(BadAnswer, "the queries to this server select more than %d series together: select fewer", seriesOfServer)
	case server.tenant.kept+weight > seriesOfTenant:
		return failed(BadAnswer, "the queries of this namespace select more than %d series together: select fewer", seriesOfTenant)
	case s.kept+weight > seriesOfAll:
		return failed(Unreachable, "the answers to all gates of this cluster have more than %d series together: it is asked again", seriesOfAll)
	}
	return nil
}
