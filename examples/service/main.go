// Command service is an HTTP service that loses no request when its pods are replaced. What it does
// about that, any service can:
//
//   - it is ready only once it answers, and is not when it is about to end;
//   - told to end, it goes on answering for as long as requests may still be sent to it: nobody has
//     told every node yet that it is going;
//   - meanwhile it closes each connection after the answer, so that clients take another pod;
//   - then it takes no more requests, and ends once those in progress are answered;
//   - it keeps idle connections for longer than the proxies before it, so that it closes none just
//     as a request comes.
//
// docs/zero-downtime.md says what its Deployment adds to that. With a volume, at the path $DATA, it
// keeps a ledger there (ledger.go). It counts its answers at /metrics, and $FAIL is the share of
// requests that fail, such as 0.05 (metrics.go). An answer takes $WORK, by default 20ms.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	address = ":8080"
	// drain is how long it goes on answering once it was asked to end: longer than it takes until
	// every node has heard that the pod is going.
	drain = 5 * time.Second
	// last is how long requests that are in progress after that may take.
	last = 10 * time.Second
	// idle limits how long a connection stays open without a request. It is more than the 60 to 90
	// seconds of most proxies.
	idle = 2 * time.Minute
	// defaultWork is the time that an answer takes.
	defaultWork = 20 * time.Millisecond
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	told, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := newService()
	if err != nil {
		return err
	}
	server := &http.Server{Addr: address, Handler: s.routes(), ReadHeaderTimeout: idle, IdleTimeout: idle}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-told.Done():
	}
	s.draining.Store(true)
	<-time.After(drain)
	ctx, cancel := context.WithTimeout(context.Background(), last)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// A service answers with the version that it is.
type service struct {
	version  string
	draining atomic.Bool
	metrics  *metrics
	faults   *faults
	// work is the time that an answer takes.
	work time.Duration
	// ledger is nil without a volume.
	ledger *ledger
}

func newService() (*service, error) {
	failing, err := readFaults(os.Getenv("FAIL"))
	if err != nil {
		return nil, err
	}
	s := &service{version: os.Getenv("VERSION"), metrics: newMetrics(), faults: failing, work: defaultWork}
	if text := os.Getenv("WORK"); text != "" {
		if s.work, err = time.ParseDuration(text); err != nil || s.work < 0 {
			return nil, fmt.Errorf("the time of an answer is %q: set WORK to a duration, such as 50ms", text)
		}
	}
	volume := os.Getenv("DATA")
	if volume == "" {
		return s, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find out who this is: %w", err)
	}
	s.ledger, err = openLedger(volume, name, s.version)
	return s, err
}

func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", s.ready)
	mux.Handle("/metrics", s.metrics.page())
	mux.Handle("/", s.metrics.count(http.HandlerFunc(s.answer)))
	if s.ledger != nil {
		mux.HandleFunc("/ledger", s.ledger.serve)
	}
	return mux
}

func (s *service) ready(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Load() {
		http.Error(w, "draining", http.StatusServiceUnavailable)
	}
}

func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(s.work):
	case <-r.Context().Done():
		return
	}
	if s.faults.next() {
		http.Error(w, "this is one of the requests that fail", http.StatusInternalServerError)
		return
	}
	if s.ledger != nil {
		if err := s.ledger.answer(s.version); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if s.draining.Load() {
		w.Header().Set("Connection", "close")
	}
	fmt.Fprint(w, s.version)
}
