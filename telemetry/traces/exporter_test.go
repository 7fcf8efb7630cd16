package traces

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/telemetry/story"
)

// ended returns so many releases that have ended.
func ended(count int) []story.Fact {
	facts := make([]story.Fact, count)
	for i := range facts {
		facts[i] = story.Fact{
			Kind: story.ReleaseCompleted, Release: types.NamespacedName{Namespace: "shop", Name: "web"}, UID: "uid", Attempt: int64(i + 1), Time: time.Unix(int64(i), 0),
		}
	}
	return facts
}

func counted(t *testing.T, counter prometheus.Counter) int {
	t.Helper()
	var is dto.Metric
	if err := counter.Write(&is); err != nil {
		t.Fatalf("read counter: %v", err)
	}
	return int(is.GetCounter().GetValue())
}

// await waits for a condition.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticks, end := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer ticks.Stop()
	for !condition() {
		select {
		case <-ticks.C:
		case <-end:
			t.Fatalf("after a minute it is not so that %s", what)
		}
	}
}

// lines is a log.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, prefix+args)
	}, funcr.Options{})
}

func (l *lines) written() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.all...)
}

// Flush sends the spans of all facts. Shutdown would give up after some seconds, too few on a busy
// machine.
func (e *Exporter) Flush(ctx context.Context) error { return e.provider.ForceFlush(ctx) }

// hanging returns a collector that never answers, until the test ends.
func hanging(t *testing.T) string {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	return server.URL
}

func mustNew(t *testing.T, o Options) *Exporter {
	t.Helper()
	exporter, err := New(o)
	if err != nil {
		t.Fatalf("make exporter: %v", err)
	}
	return exporter
}

// TestQueueIsBounded: with a collector that never answers, Tell does not wait, and what has no room
// is dropped and counted. It is not parallel: the counter is of the process.
func TestQueueIsBounded(t *testing.T) {
	exporter := mustNew(t, Options{Endpoint: hanging(t)})
	before, began := counted(t, droppedFull), time.Now()
	exporter.Tell(ended(maxWaiting + 952))
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Tell took %v with a collector that never answers", took)
	}
	if got := counted(t, droppedFull) - before; got != 952 {
		t.Errorf("%d spans were dropped and counted, want 952", got)
	}
	lost := counted(t, droppedRefused)
	exporter.sender.giveUp(nil) // as at the end of the process, without its 5 s
	exporter.Shutdown(t.Context())
	await(t, "those that waited are counted, too", func() bool { return counted(t, droppedRefused)-lost == maxWaiting })
}

// TestRedirectIsNotFollowed: a collector can't send traces, and the headers with them, anywhere
// else. It is not parallel, as above.
func TestRedirectIsNotFollowed(t *testing.T) {
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		var elsewhere atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
		t.Cleanup(other.Close)
		server := httptest.NewServer(http.RedirectHandler(other.URL, code))
		t.Cleanup(server.Close)
		before := counted(t, droppedRefused)
		exporter := mustNew(t, Options{Endpoint: server.URL, Headers: map[string]string{"authorization": "hunter2"}})
		exporter.Tell(ended(3))
		exporter.Shutdown(t.Context())
		if elsewhere.Load() != 0 {
			t.Errorf("a redirect with %d was followed", code)
		}
		await(t, fmt.Sprintf("3 spans are counted as not taken after %d", code), func() bool { return counted(t, droppedRefused)-before == 3 })
	}
}

// TestComplaints: a collector that refuses everything, with a long text that controls terminals,
// has one line of the log a minute. Headers are never in it.
func TestComplaints(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "\x1b[2J\n{\"level\":\"error\"}\u202e"+strings.Repeat("x", 1<<20))
	}))
	t.Cleanup(server.Close)
	log := &lines{}
	exporter := mustNew(t, Options{Endpoint: server.URL, Logger: log.logger(), Headers: map[string]string{"authorization": "hunter2"}})
	before := counted(t, droppedRefused)
	exporter.Tell(ended(4 * maxBatch))
	exporter.Shutdown(t.Context())
	await(t, fmt.Sprintf("%d spans are counted as not taken", 4*maxBatch), func() bool { return counted(t, droppedRefused)-before == 4*maxBatch })
	written := log.written()
	if len(written) != 1 {
		t.Fatalf("there are %d lines in the log, want 1: %.300q", len(written), written)
	}
	if line := written[0]; len(line) > 2*maxError || strings.ContainsAny(line, "\x1b\n\u202e") || strings.Contains(line, "hunter2") {
		t.Errorf("the log has %d bytes: %.300q", len(line), line)
	}
}

// TestShutdownIsShort: the process ends whatever the collector does.
func TestShutdownIsShort(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	gone.Close()
	var all sync.WaitGroup
	for name, o := range map[string]Options{
		"one that hangs":          {Endpoint: hanging(t)},
		"one that hangs, by grpc": {Endpoint: hanging(t), Protocol: GRPC},
		"nobody there":            {Endpoint: gone.URL},
		"nobody there, by grpc":   {Endpoint: gone.URL, Protocol: GRPC},
		"no such host":            {Endpoint: "https://collector.invalid"},
	} {
		exporter := mustNew(t, o)
		exporter.Tell(ended(3 * maxBatch))
		all.Go(func() {
			began := time.Now()
			exporter.Shutdown(t.Context())
			if took := time.Since(began); took > 2*flushTime {
				t.Errorf("with %s it took %v, want at most %v", name, took, flushTime)
			}
			exporter.Tell(ended(1)) // does nothing
		})
	}
	all.Wait()
}

// TestCollectorThatIsRestarted: spans are sent again after a refused connection.
func TestCollectorThatIsRestarted(t *testing.T) {
	t.Parallel()
	response, err := newHTTPClient(Options{}, time.Second).Get("http://127.0.0.1:1/")
	if err == nil {
		response.Body.Close()
	}
	if temporary, is := err.(interface{ Temporary() bool }); !is || !temporary.Temporary() {
		t.Errorf("a connection that is refused is not tried again: %v", err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for endpoint, wrong := range map[string]string{
		"":                                "",
		"https://collector.example.com":   "",
		"http://127.0.0.1:4318/v1/traces": "",
		"http://[::1]:4318":               "",
		"http://localhost:4318":           "",
		"http://collector.otel:4318":      "plain http",
		"http://127.0.0.1.example.com":    "plain http",
		"http://localhost.example.com":    "plain http",
		"collector:4317":                  "not a URL",
		"https://":                        "not a URL",
		"https://:4318":                   "not a URL",
		"file:///etc/passwd":              "not a URL",
		"unix:///run/otel.sock":           "not a URL",
		"https://ada:hunter2@example.com": "password",
		"https://example.com?a=b":         "query",
		"https://example.com/\x7f":        "not a URL",
	} {
		err := Options{Endpoint: endpoint}.Check()
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: error is %v, want one with %q", endpoint, err, wrong)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error has the password in it: %v", endpoint, err)
		}
	}
	for name, test := range map[string]struct {
		options Options
		ok      bool
	}{
		"allowed":          {Options{Endpoint: "http://collector.otel:4318", Insecure: true}, true},
		"grpc":             {Options{Endpoint: "https://collector.otel:4317", Protocol: GRPC}, true},
		"grpc with a path": {Options{Endpoint: "https://collector.otel:4317/v1/traces", Protocol: GRPC}, false},
		"http/json":        {Options{Endpoint: "https://collector.otel:4317", Protocol: "http/json"}, false},
	} {
		if err := test.options.Check(); (err == nil) != test.ok {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}
