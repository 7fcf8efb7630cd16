package measure

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// hanging returns a query that counts itself, and hangs until the end.
func hanging(running *atomic.Int64, end <-chan struct{}) func(context.Context) (Answer, error) {
	return func(context.Context) (Answer, error) {
		running.Add(1)
		<-end
		return Answer{}, nil
	}
}

// TestServersOfOneTenant: however many servers a tenant has, it has few queries at a time, and
// another tenant's answer comes all the same.
func TestServersOfOneTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared, end := NewShared(clock.RealClock{}), make(chan struct{})
		var running atomic.Int64
		hang := hanging(&running, end)
		for i := range 100 {
			go func() { _, _ = shared.Read(t.Context(), Question{"greedy", fmt.Sprint(i), "up", time.Minute}, hang) }()
			synctest.Wait()
		}
		if got := running.Load(); got != queriesOfTenant {
			t.Errorf("%d queries of a tenant at a time, want %d", got, queriesOfTenant)
		}
		if _, err := shared.Read(t.Context(), Question{"other", "its own", "up", time.Minute}, func(context.Context) (Answer, error) { return Answer{}, nil }); err != nil {
			t.Errorf("another tenant: %v", err)
		}
		close(end)
	})
}

// TestSweptWhileAsked: a server that hangs gets no more queries once their interval is over.
func TestSweptWhileAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now, end := clocktesting.NewFakePassiveClock(noon), make(chan struct{})
		shared := NewShared(now)
		var running atomic.Int64
		hang := hanging(&running, end)
		for round := range 10 {
			for i := range queriesOfServer {
				go func() {
					_, _ = shared.Read(t.Context(), Question{"shop", "prometheus", fmt.Sprint(round, i), time.Second}, hang)
				}()
				synctest.Wait()
			}
			now.SetTime(now.Now().Add(sweepAgain))
		}
		if got := running.Load(); got != queriesOfServer {
			t.Errorf("%d queries at a time, want %d", got, queriesOfServer)
		}
		close(end)
		synctest.Wait()
		now.SetTime(now.Now().Add(sweepAgain))
		_, _ = shared.Read(t.Context(), Question{"other", "other", "up", time.Second}, func(context.Context) (Answer, error) { return Answer{}, nil })
		if len(shared.servers) != 1 || len(shared.tenants) != 1 {
			t.Errorf("%d servers and %d tenants are kept, want the last one alone", len(shared.servers), len(shared.tenants))
		}
	})
}

// TestLargeAnswersTakeTurns: large answers are read one at a time for a tenant, and few at a time
// for all; a server that sends none waits for none.
func TestLargeAnswersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared, end := NewShared(clock.RealClock{}), make(chan struct{})
		var greedy, all atomic.Int64
		large := func(count *atomic.Int64) func(context.Context) (Answer, error) {
			return func(ctx context.Context) (Answer, error) {
				r, is := ctx.Value(roomKey{}).(*room)
				if !is {
					return Answer{}, errors.New("a query without room")
				}
				if err := r.take(ctx); err != nil {
					return Answer{}, err
				}
				count.Add(1)
				<-end
				return Answer{}, nil
			}
		}
		for i := range 3 * queriesOfTenant {
			go func() {
				_, _ = shared.Read(t.Context(), Question{"greedy", fmt.Sprint(i), "up", time.Minute}, large(&greedy))
			}()
			synctest.Wait()
		}
		if got := greedy.Load(); got != largeOfTenant {
			t.Errorf("%d large answers of a tenant at a time, want %d", got, largeOfTenant)
		}
		for i := range 20 {
			tenant := fmt.Sprint("tenant ", i)
			go func() { _, _ = shared.Read(t.Context(), Question{tenant, tenant, "up", time.Minute}, large(&all)) }()
			synctest.Wait()
		}
		if got := greedy.Load() + all.Load(); got != largeOfAll {
			t.Errorf("%d large answers at a time, want %d", got, largeOfAll)
		}
		close(end)
		synctest.Wait()
		if got := greedy.Load() + all.Load(); got != 3*queriesOfTenant+20 {
			t.Errorf("%d large answers in all, want each", got)
		}
	})
}

// TestLargeAnswerIsWhole: a large answer is read whole, and gives its room back, also after an
// error.
func TestLargeAnswerIsWhole(t *testing.T) {
	t.Parallel()
	const series = 3000
	answers := []string{
		`{"status":"success","data":{"resultType":"vector","result":[` + strings.Repeat(`{"metric":{"pod":"a"},"value":[1,"1"]},`, series-1) + `{"metric":{},"value":[1,"1"]}]}}`,
		strings.Repeat(" ", maxBody+2),
	}
	var asked atomic.Int32
	s := open(t, func(w http.ResponseWriter, r *http.Request) { says(answers[(asked.Add(1)-1)%2])(w, r) })
	shared := NewShared(clocktesting.NewFakePassiveClock(noon))
	for i := range 4 {
		r, err := shared.Read(t.Context(), Question{"shop", "prometheus", fmt.Sprint(i), time.Minute}, func(ctx context.Context) (Answer, error) { return s.Prometheus(ctx, "up") })
		if known, is := errors.AsType[*Error](err); i%2 == 0 && len(r.Series) != series || i%2 == 1 && (!is || known.Kind != BadAnswer) {
			t.Errorf("answer %d: got %d series, %v", i, len(r.Series), err)
		}
		if len(shared.large) > 0 {
			t.Fatal("the room was not given back")
		}
	}
}

// TestLargeLabels: labels fill the memory as series do, and one tenant does not fill it for all.
func TestLargeLabels(t *testing.T) {
	t.Parallel()
	s := open(t, says(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"`+strings.Repeat("x", 7<<20)+`"},"value":[1,"1"]}]}}`))
	shared, kept := NewShared(clocktesting.NewFakePassiveClock(noon)), 0
	for i := range 10 {
		server := fmt.Sprint("prometheus ", i)
		if _, err := shared.Read(t.Context(), Question{"shop", server, "up", time.Hour}, func(ctx context.Context) (Answer, error) { return s.Prometheus(ctx, "up") }); err == nil {
			kept++
		}
	}
	if kept != 4 {
		t.Errorf("%d answers of 7 MiB are kept for an hour, want 4", kept)
	}
	small := func(context.Context) (Answer, error) { return Answer{Series: make([]Series, 1000)}, nil }
	if _, err := shared.Read(t.Context(), Question{"other", "other", "up", time.Hour}, small); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}

// TestCompressedAnswers: an answer is as large as it is when it is unpacked.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	s := open(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		defer packed.Close()
		blank := []byte(strings.Repeat(" ", 1<<20))
		for range 1 << 10 {
			if _, err := packed.Write(blank); err != nil {
				return
			}
		}
	})
	_, err := s.Prometheus(t.Context(), "up")
	if known, is := errors.AsType[*Error](err); !is || known.Kind != BadAnswer {
		t.Errorf("a GiB of spaces: got %v, want that it is too large", err)
	}
}
