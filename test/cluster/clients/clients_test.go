package clients

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// serve starts a server.
func serve(t *testing.T, answer http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

func start(t *testing.T, options Options) *Load {
	t.Helper()
	options.Interval = time.Millisecond
	l := Start(t.Context(), options)
	t.Cleanup(l.Stop)
	return l
}

// await polls until the counts are as wanted.
func (l *Load) await(t *testing.T, want string, condition func(Counts) bool) Counts {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(time.Millisecond) {
		now := l.Counts()
		if condition(now) {
			return now
		}
		if time.Now().After(deadline) {
			t.Fatalf("want %s, have %+v", want, now)
		}
	}
}

func TestEachAnswerIsCounted(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Canary") != "yes" {
			http.Error(w, "want the header", http.StatusBadRequest)
			return
		}
		switch asked.Add(1) % 4 {
		case 0:
			fmt.Fprint(w, "v2")
		case 1:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		case 2:
			if connection, _, err := w.(http.Hijacker).Hijack(); err == nil {
				connection.Close()
			}
		default:
			fmt.Fprint(w, "v1")
		}
	})
	l := start(t, Options{URL: url, Clients: 4, Header: http.Header{"Canary": {"yes"}}})
	l.await(t, "100 requests", func(c Counts) bool { return c.Sent >= 100 })
	l.Stop()
	got := l.Counts()
	if sent := int(asked.Load()); got.Sent != sent {
		t.Errorf("%d requests are counted, %d were sent: none may be sent twice", got.Sent, sent)
	}
	n := got.Sent
	want := Counts{Sent: n, Failed: (n+3)/4 + (n+2)/4, Versions: map[string]int{"v1": (n + 1) / 4, "v2": n / 4}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Counts{}, "Failures", "Last")); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(got.Failures) != keptFailures {
		t.Errorf("%d failures are kept, want %d", len(got.Failures), keptFailures)
	}
	for _, want := range []string{"status 503: busy", "EOF"} {
		if !strings.Contains(strings.Join(got.Failures, "\n"), want) {
			t.Errorf("want %q among the failures %q", want, got.Failures)
		}
	}
	if l.Counts().Sent != n {
		t.Error("requests are sent after the end")
	}
}

func TestHalfOfTheClientsKeepTheirConnection(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	requests := map[string]int{} // by connection
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests[r.RemoteAddr]++
		fmt.Fprint(w, "v1")
	})
	l := start(t, Options{URL: url, Clients: 2})
	l.await(t, "a connection with 20 requests and 20 with one", func(Counts) bool {
		mu.Lock()
		defer mu.Unlock()
		return len(requests) > 20 && slices.Max(slices.Collect(maps.Values(requests))) >= 20
	})
	l.Stop()
	kept := 0
	for _, n := range requests {
		if n > 1 {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d connections are kept, want that of one client: requests by connection %v", kept, requests)
	}
}

func TestRequestsGoToAnotherURL(t *testing.T) {
	t.Parallel()
	var pending atomic.Int64
	first := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		pending.Add(1)
		defer pending.Add(-1)
		<-time.After(20 * time.Millisecond)
		fmt.Fprint(w, "v1")
	})
	second := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "v2") })
	l := start(t, Options{URL: first, Clients: 4})
	l.await(t, "answers of the first", func(c Counts) bool { return c.Versions["v1"] >= 20 })
	l.To(second)
	moved := time.Now()
	if left := pending.Load(); left > 0 {
		t.Errorf("%d requests to the first are not answered yet", left)
	}
	before := l.await(t, "answers of the second", func(c Counts) bool { return c.Versions["v2"] >= 20 })
	if last := before.Last["v1"]; last.After(moved) {
		t.Errorf("the first has got a request %v after all were to go to the second", last.Sub(moved))
	}
	now := l.await(t, "more answers", func(c Counts) bool { return c.Sent >= before.Sent+20 })
	since := now.Since(before)
	if since.Failed != 0 || since.Sent < 20 || since.Versions["v1"] != 0 || since.Share("v2") != 100 {
		t.Errorf("since then: %+v, want all answers to be of the second", since)
	}
	if share := now.Share("v1") + now.Share("v2"); share < 99.999 || share > 100.001 {
		t.Errorf("the shares come to %v, want 100", share)
	}
	if share := (Counts{}).Share("v1"); share != 0 {
		t.Errorf("the share of no answers is %v", share)
	}
}
