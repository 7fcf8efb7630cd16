package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// TestOneQueryForAll: a thousand callers that ask the same within an interval share one query.
// Other questions, servers and intervals have their own.
func TestOneQueryForAll(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(noon)
	shared := NewShared(now)
	var asked atomic.Int64
	ask := func(context.Context) (Answer, error) {
		return Answer{Series: []Series{{Value: float64(asked.Add(1))}}}, nil
	}
	all := func(q Question) {
		t.Helper()
		var wait sync.WaitGroup
		for range 1000 {
			wait.Go(func() {
				if r, err := shared.Read(t.Context(), q, ask); err != nil || r.At.Before(now.Now().Truncate(q.Interval)) {
					t.Errorf("got %v, %v; want a reading of this interval", r, err)
				}
			})
		}
		wait.Wait()
	}
	q := Question{"shop", "shop/prometheus#1", "up", 15 * time.Second}
	other, elsewhere, seldom := q, q, q
	other.Query, elsewhere.Server, seldom.Interval = "down", "shop/prometheus#2", time.Minute
	for i, step := range []struct {
		q     Question
		after time.Duration
		want  int64
	}{
		{q, 0, 1}, {q, 14 * time.Second, 1}, {q, 15 * time.Second, 2}, {q, 29 * time.Second, 2},
		{other, 29 * time.Second, 3}, {elsewhere, 29 * time.Second, 4}, {seldom, 29 * time.Second, 5}, {seldom, 59 * time.Second, 5}, {seldom, time.Minute, 6},
	} {
		now.SetTime(noon.Add(step.after))
		all(step.q)
		if got := asked.Load(); got != step.want {
			t.Errorf("step %d: %d queries, want %d", i, got, step.want)
		}
	}
}

// TestEndOfTheFirstCaller: others get the answer though the caller is gone that asked first.
func TestEndOfTheFirstCaller(t *testing.T) {
	shared := NewShared(clocktesting.NewFakePassiveClock(noon))
	q := Question{"shop", "prometheus", "up", time.Minute}
	began, end := make(chan struct{}), make(chan struct{})
	ask := func(ctx context.Context) (Answer, error) {
		close(began)
		<-end
		return Answer{Notes: []string{"whole"}}, ctx.Err()
	}
	first, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if _, err := shared.Read(first, q, ask); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	close(end)
	if r, err := shared.Read(t.Context(), q, ask); err != nil || len(r.Notes) != 1 {
		t.Errorf("got %v, %v; want the answer to the first caller", r, err)
	}
}

// TestBounds: no server has more than a few queries at a time, and answers of the past go.
func TestBounds(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(noon)
	shared := NewShared(now)
	var running, most atomic.Int64
	ask := func(context.Context) (Answer, error) {
		n := running.Add(1)
		for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
		}
		running.Add(-1)
		return Answer{}, nil
	}
	for round := range 3 {
		now.SetTime(noon.Add(time.Duration(round) * time.Minute))
		var wait sync.WaitGroup
		for i := range 200 {
			wait.Go(func() {
				if _, err := shared.Read(t.Context(), Question{"shop", "prometheus", fmt.Sprint(round, i), time.Minute}, ask); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
	if most.Load() > queriesOfServer {
		t.Errorf("%d queries at a time, want at most %d", most.Load(), queriesOfServer)
	}
	if got := len(shared.servers["prometheus"].answers); got != 200 {
		t.Errorf("%d answers are kept, want the 200 of the last minute", got)
	}
}

// TestTooManySeries: queries that fill the memory are refused for their own server alone.
func TestTooManySeries(t *testing.T) {
	shared := NewShared(clocktesting.NewFakePassiveClock(noon))
	ask := func(context.Context) (Answer, error) { return Answer{Series: make([]Series, seriesOfServer/2)}, nil }
	for i, server := range []string{"greedy", "greedy", "greedy", "other"} {
		_, err := shared.Read(t.Context(), Question{server, server, fmt.Sprint(i), time.Minute}, ask)
		known, is := errors.AsType[*Error](err)
		if refused := is && known.Kind == BadAnswer; refused != (i == 2) {
			t.Errorf("query %d to %s: got %v, want that the third one alone is refused", i, server, err)
		}
	}
}
