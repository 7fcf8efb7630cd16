package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/util/flowcontrol"
	testingclock "k8s.io/utils/clock/testing"
)

// TestOnesLimitHoldsUpNobody: several service accounts of one tenant, whose many pages have used up
// their own limits, hold no turn while they wait for those: others are answered.
func TestOnesLimitHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rights := NewRights(testingclock.NewFakeClock(time.Now()))
		api := &reviewer{allowed: func(*authorizationv1.ResourceAttributes) bool { return true }}
		ctx, leave := context.WithCancel(t.Context())
		var waiting atomic.Int32
		for i := range reviewsAtOnce/personsOwnTurns + 1 {
			greedy := &Viewer{Name: fmt.Sprintf("system:serviceaccount:mallory:%d", i), Client: api, waits: func(ctx context.Context) (context.Context, error) {
				waiting.Add(1)
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			for j := range 100 {
				go func() { _, _ = rights.May(ctx, greedy, fmt.Sprintf("shop-%d", j), listThem) }()
			}
		}
		synctest.Wait()
		if got := waiting.Load(); got < reviewsAtOnce {
			t.Errorf("only %d wait for their own limits", got)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if may, err := rights.May(soon, &Viewer{Name: "modest", Client: api}, "shop", listThem); !may || err != nil {
			t.Errorf("another waits for a turn: %v, %v", may, err)
		}
		leave()
		synctest.Wait()
	})
}

// TestRequestsWaitOnce: a request waits for its person's limit once, before its turn, where it has
// one. A request that can't be sent in time is dropped.
func TestRequestsWaitOnce(t *testing.T) {
	t.Parallel()
	sent := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent++ }))
	t.Cleanup(server.Close)
	limit := flowcontrol.NewTokenBucketRateLimiter(0.001, 2)
	one := &http.Client{Transport: rationed{http.DefaultTransport, limit}}
	ask := func(ctx context.Context) error {
		soon, cancel := context.WithTimeout(ctx, time.Minute) // shorter than the limit has one wait
		defer cancel()
		request, err := http.NewRequestWithContext(soon, http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := one.Do(request)
		if err != nil {
			return err
		}
		return errors.Join(err, answer.Body.Close())
	}
	waited, err := (&acting{nil, limit}).wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ask(waited), ask(t.Context())); err != nil {
		t.Error(err)
	}
	if err := ask(t.Context()); err == nil || sent != 2 {
		t.Errorf("beyond the limit: %d sent, %v", sent, err)
	}
}
