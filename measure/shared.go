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

	mu      sync.Mutex
	servers map[string]*asked
	swept   time.Time
}

// asked holds the questions to one server.
type asked struct {
	turns   chan struct{}
	answers map[Question]*pending
}

// Question is a query to a server. Callers that may not share credentials give other servers.
type Question struct {
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
}

const (
	// queriesOfServer is the number of queries to a server at a time.
	queriesOfServer = 4
	// seriesOfServer bounds the series of a server that are kept in memory.
	seriesOfServer = 20_000
	// sweepAgain is the time between two sweeps of answers of the past.
	sweepAgain = 10 * time.Second
)

// NewShared returns a Shared that has asked nothing yet.
func NewShared(now clock.PassiveClock) *Shared {
	return &Shared{clock: now, servers: map[string]*asked{}}
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
	server := s.servers[q.Server]
	if server == nil {
		server = &asked{make(chan struct{}, queriesOfServer), map[Question]*pending{}}
		s.servers[q.Server] = server
	}
	interval := now.Truncate(q.Interval)
	if known := server.answers[q]; known != nil && !known.interval.Before(interval) {
		return known, nil
	}
	p := &pending{interval: interval, done: make(chan struct{})}
	server.answers[q] = p
	return p, server
}

// sweep drops the answers of past intervals, and servers without any.
func (s *Shared) sweep(now time.Time) {
	s.swept = now
	for name, server := range s.servers {
		for q, p := range server.answers {
			if p.interval.Before(now.Truncate(q.Interval)) {
				delete(server.answers, q)
			}
		}
		if len(server.answers) == 0 {
			delete(s.servers, name)
		}
	}
}

// ask asks the server for all callers of an interval.
func (s *Shared) ask(ctx context.Context, p *pending, server *asked, ask func(context.Context) (Answer, error)) {
	server.turns <- struct{}{}
	at := s.clock.Now()
	answer, err := ask(ctx)
	<-server.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := server.kept(); err == nil && kept+answer.weight() > seriesOfServer {
		answer, err = Answer{}, failed(BadAnswer, "the queries to this server select more than %d series together: select fewer", seriesOfServer)
	}
	answer.index = &index{of: map[string]ByLabel{}}
	p.reading, p.err = Reading{answer, at}, err
	close(p.done)
}

// kept counts the series of the answers that are kept.
func (a *asked) kept() (series int) {
	for _, p := range a.answers {
		select {
		case <-p.done:
			series += p.reading.weight()
		default:
		}
	}
	return series
}
