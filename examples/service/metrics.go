package main

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts the answers of a service, for a Prometheus that reads them at /metrics.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Requests that were answered, by status code.",
		}, []string{"code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Help: "How long answers took.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, nil),
	}
	m.registry.MustRegister(m.requests, m.durations)
	return m
}

// count returns the handler that counts the answers of another.
func (m *metrics) count(next http.Handler) http.Handler {
	return promhttp.InstrumentHandlerCounter(m.requests, promhttp.InstrumentHandlerDuration(m.durations, next))
}

// page returns the handler of /metrics.
func (m *metrics) page() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// faults decides which requests fail: a share of them, evenly.
type faults struct {
	share float64

	mu sync.Mutex
	// due is the number of requests that should have failed so far, less those that did.
	due float64
}

// readFaults reads a share such as 0.05, for 5 % of all requests. The empty text is 0.
func readFaults(share string) (*faults, error) {
	if share == "" {
		return &faults{}, nil
	}
	read, err := strconv.ParseFloat(share, 64)
	if err != nil || !(read >= 0 && read <= 1) {
		return nil, fmt.Errorf("the share of requests that fail is %q: set FAIL to a number from 0 to 1, such as 0.05", share)
	}
	return &faults{share: read}, nil
}

// next reports whether the next request fails.
func (f *faults) next() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.due += f.share; f.due < 1 {
		return false
	}
	f.due--
	return true
}
