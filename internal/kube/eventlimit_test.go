package kube

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestLimitEvents: a burst of events takes few requests at once, and nothing else waits for it.
func TestLimitEvents(t *testing.T) {
	t.Parallel()
	var at, most, sent atomic.Int32
	full, goOn := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			return
		}
		n := at.Add(1)
		defer at.Add(-1)
		most.Store(max(most.Load(), n))
		if sent.Add(1) == eventsAtOnce {
			close(full)
		}
		<-goOn
	}))
	t.Cleanup(server.Close)
	c := http.Client{Transport: LimitEvents()(server.Client().Transport)}
	do := func(ctx context.Context, method, path string) error {
		req, err := http.NewRequestWithContext(ctx, method, server.URL+path, strings.NewReader("{}"))
		if err != nil {
			return err
		}
		answer, err := c.Do(req)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	const events, path = 100, "/apis/events.k8s.io/v1/namespaces/shop/events"
	var wg sync.WaitGroup
	for range events {
		wg.Go(func() {
			if err := do(t.Context(), http.MethodPost, path); err != nil {
				t.Error(err)
			}
		})
	}
	<-full
	if err := do(t.Context(), http.MethodGet, "/apis/apps/v1/namespaces/shop/deployments"); err != nil {
		t.Errorf("a request that is no event, while events wait: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := do(ended, http.MethodPost, path); !errors.Is(err, context.Canceled) {
		t.Errorf("an event that waits as the controller ends: %v, want %v", err, context.Canceled)
	}
	close(goOn)
	wg.Wait()
	if sent.Load() != events || most.Load() > eventsAtOnce {
		t.Errorf("%d events were sent, %d at once, want %d and at most %d", sent.Load(), most.Load(), events, eventsAtOnce)
	}
}
