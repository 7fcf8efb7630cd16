package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// metricInterval is the time between two measurements of a gate.
const metricInterval = 5 * time.Second

// metricGates is a bench of releases whose gates all compare the same counters of one server.
type metricGates struct {
	fleet
	// watched is the time that the gates are watched while no pod serves a request, and writes are the
	// most requests in that time that change something.
	watched time.Duration
	writes  int
}

// metricGatesSample holds the measurements of open gates.
type metricGatesSample struct {
	// queries are the numbers of queries in the time watched, by text.
	queries  map[string]int
	requests map[string]int
	writes   int
	cpu      time.Duration
	memory   int64
	// decided is the time from the first request to the last gate's verdict.
	decided time.Duration
	peak    int64
}

// comparedSteps returns a step with one pod whose gate compares versions, and a last one.
func comparedSteps() []v1alpha1.Step {
	all := steps("1", "100%")
	all[0].Gates = []v1alpha1.GatePolicy{{Metrics: &v1alpha1.MetricsGate{
		Provider: "prometheus", Interval: &metav1.Duration{Duration: metricInterval},
		Metrics: []v1alpha1.GateMetric{{Name: "errors", MetricCheck: v1alpha1.MetricCheck{
			Compare: &v1alpha1.CompareMetric{Requests: "requests", Errors: "errors", Young: &metav1.Duration{}},
		}}},
	}}}
	return all
}

// run measures the gates once, whatever the number of runs: they are many.
func (g metricGates) run(ctx context.Context, k *kit, _ int) (report, error) {
	var s metricGatesSample
	err := k.inLab(ctx, func(ctx context.Context, l *lab) (err error) {
		s, err = g.measure(ctx, l)
		return err
	})
	if err != nil {
		return report{}, err
	}
	return g.report(s), nil
}

func (g metricGates) measure(ctx context.Context, l *lab) (s metricGatesSample, err error) {
	log, err := l.watch(ctx, everything()...)
	if err != nil {
		return s, err
	}
	counters := newCounterServer()
	defer counters.Close()
	if err := l.client.Create(ctx, counters.provider()); err != nil {
		return s, fmt.Errorf("create MetricProvider: %w", err)
	}
	running, err := l.startController(ctx, "--git-allow-http", "--git-allowed-networks=127.0.0.0/8")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	c := comparison{fleet: g.fleet}
	if err := errors.Join(c.deploy(ctx, l, log), c.adoptAll(ctx, l, log)); err != nil {
		return s, err
	}
	if err := g.updateReleases(ctx, l.client, 2); err != nil {
		return s, fmt.Errorf("update: %w", err)
	}
	if _, err := log.await(ctx, g.deployments, blocksAt(2, 0)); err != nil {
		return s, err
	}
	if err := counters.list(ctx, l.client); err != nil {
		return s, err
	}
	// Gates record what they are measured by, and then each minute.
	if err := pass(ctx, 3*metricInterval); err != nil {
		return s, err
	}
	l.say("  %d gates are open; watching them for %v", g.deployments, g.watched)
	if err := g.watch(ctx, l, running, counters, &s); err != nil {
		return s, err
	}
	begin := counters.serve()
	end, err := log.await(ctx, g.deployments, released(2))
	s.decided = end.Sub(begin)
	used, usageErr := running.usage()
	s.peak = used.peak
	return s, errors.Join(err, usageErr)
}

// watch measures what the gates cost while none can be decided.
func (g metricGates) watch(ctx context.Context, l *lab, running *controller, counters *counterServer, s *metricGatesSample) error {
	from, asked := time.Now(), counters.asked()
	before, err := running.usage()
	if err != nil {
		return err
	}
	if err := pass(ctx, g.watched); err != nil {
		return err
	}
	s.queries = counters.asked()
	for query, n := range asked {
		s.queries[query] -= n
	}
	after, err := running.usage()
	if err != nil {
		return err
	}
	s.cpu, s.memory = after.cpu-before.cpu, after.memory
	requests, err := l.requests(from)
	if err != nil {
		return err
	}
	s.requests = byVerb(requests, fromSluice)
	for _, r := range requests {
		if fromSluice(r) && changesSomething(r) {
			s.writes++
		}
	}
	return nil
}

func (g metricGates) report(s metricGatesSample) report {
	var most int
	for _, n := range s.queries {
		most = max(most, n)
	}
	intervals := int(g.watched/metricInterval) + 1 // the first one may have begun before
	return report{rows: []row{
		{
			label: fmt.Sprintf("queries of one text in %v, %v between measurements", g.watched, metricInterval), sluice: fmt.Sprint(most),
			wanted: fmt.Sprintf("<= %d", intervals), verdict: atMost(most, intervals),
		},
		{label: "  texts", sluice: fmt.Sprint(len(s.queries))},
		{
			label: "API requests that change something", sluice: fmt.Sprint(s.writes),
			wanted: fmt.Sprintf("<= %d", g.writes), verdict: atMost(s.writes, g.writes),
		},
		{label: "  all", sluice: verbs(s.requests)},
		{label: "controller CPU", sluice: cpuSeconds(s.cpu)},
		{label: "controller memory", sluice: mebibytes(s.memory)},
		{label: "  peak", sluice: mebibytes(s.peak)},
		{label: "from the first request until all releases have completed", sluice: seconds(s.decided)},
	}}
}

// counterServer answers queries for the counters of pods as Prometheus does.
type counterServer struct {
	*httptest.Server

	mu      sync.Mutex
	pods    []string
	queries map[string]int
	// begun is when the pods began to serve requests; zero before.
	begun time.Time
}

func newCounterServer() *counterServer {
	s := &counterServer{queries: map[string]int{}}
	s.Server = httptest.NewServer(s)
	return s
}

func (s *counterServer) provider() *v1alpha1.MetricProvider {
	return &v1alpha1.MetricProvider{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "prometheus"},
		Spec:       v1alpha1.MetricProviderSpec{Prometheus: &v1alpha1.MetricServer{Address: s.URL}},
	}
}

// list takes the pods that there are.
func (s *counterServer) list(ctx context.Context, c client.Client) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range pods.Items {
		s.pods = append(s.pods, pods.Items[i].Name)
	}
	return nil
}

// asked returns the number of queries so far, by text.
func (s *counterServer) asked() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.queries)
}

// serve has each pod serve requests from now on.
func (s *counterServer) serve() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = time.Now()
	return s.begun
}

// ServeHTTP answers with 1,000 requests a second of each pod, of which 10 % fail.
func (s *counterServer) ServeHTTP(resp http.ResponseWriter, req *http.Request) {
	now, query := time.Now(), req.FormValue("query")
	s.mu.Lock()
	s.queries[query]++
	pods, served := slices.Clone(s.pods), 0.0
	if !s.begun.IsZero() {
		served = float64(now.Sub(s.begun).Milliseconds())
	}
	s.mu.Unlock()
	if query == "errors" {
		served /= 10
	}
	result := make([]any, len(pods))
	for i, pod := range pods {
		result[i] = map[string]any{
			"metric": map[string]string{"pod": pod},
			"value":  []any{float64(now.UnixMilli()) / 1000, strconv.FormatFloat(served, 'f', 0, 64)},
		}
	}
	resp.Header().Set("Content-Type", "application/json")
	answer := map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": result}}
	if err := json.NewEncoder(resp).Encode(answer); err != nil {
		http.Error(resp, err.Error(), http.StatusInternalServerError)
	}
}
