package journeys

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// perSecond is the number of requests that each pod serves.
const perSecond = 200

// metricServer answers queries as Prometheus does, of the counters that the pods of a namespace
// would have.
type metricServer struct {
	*httptest.Server
	w *world

	mu sync.Mutex
	// shares are the shares of errors by image, from the beginning, and turns those from later on.
	shares map[string]float64
	turns  []turn
	// fault answers in the place of the server; nil for none.
	fault   http.HandlerFunc
	queries map[string]int
}

// measured starts a server of metrics with the shares of errors by image, and creates its provider.
func (w *world) measured(shares map[string]float64) *metricServer {
	w.Helper()
	m := &metricServer{w: w, shares: shares, queries: map[string]int{}}
	m.Server = httptest.NewServer(m)
	w.Cleanup(m.Close)
	w.create(&corev1.Secret{ObjectMeta: named[corev1.Secret]("prometheus").ObjectMeta, StringData: map[string]string{"bearerToken": "t0k3n-of-metrics"}})
	w.create(&v1alpha1.MetricProvider{
		ObjectMeta: named[v1alpha1.MetricProvider]("prometheus").ObjectMeta,
		Spec: v1alpha1.MetricProviderSpec{
			Prometheus: &v1alpha1.MetricServer{Address: m.URL, SecretRef: &v1alpha1.LocalReference{Name: "prometheus"}},
			Metrics: []v1alpha1.SharedMetric{{Name: "errors", MetricCheck: v1alpha1.MetricCheck{Compare: &v1alpha1.CompareMetric{
				Requests: `requests{namespace="$(namespace)"}`, Errors: `errors{namespace="$(namespace)"}`, Young: &metav1.Duration{},
			}}}},
		},
	})
	return m
}

// ServeHTTP answers a query.
func (m *metricServer) ServeHTTP(resp http.ResponseWriter, req *http.Request) {
	m.mu.Lock()
	query := req.FormValue("query")
	name, _, _ := strings.Cut(query, "{")
	m.queries[name]++
	fault := m.fault
	m.mu.Unlock()
	switch {
	case req.Header.Get("Authorization") != "Bearer t0k3n-of-metrics":
		resp.WriteHeader(http.StatusUnauthorized)
	case fault != nil:
		fault(resp, req)
	default:
		m.answer(resp, name)
	}
}

// answer writes the counters of all pods.
func (m *metricServer) answer(resp http.ResponseWriter, name string) {
	now := time.Now()
	var result []any
	var pods corev1.PodList
	if err := m.w.List(m.w.Context(), &pods, client.InNamespace(m.w.namespace)); err != nil {
		resp.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		value := now.Sub(pod.CreationTimestamp.Time).Seconds() * perSecond
		if name == "errors" {
			value = m.errorsOf(pod.Spec.Containers[0].Image, pod.CreationTimestamp.Time, now)
		}
		result = append(result, map[string]any{
			"metric": map[string]string{"pod": pod.Name},
			"value":  []any{float64(now.UnixMilli()) / 1000, strconv.FormatFloat(value, 'f', 0, 64)},
		})
	}
	resp.Header().Set("Content-Type", "application/json")
	answer := map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": result}}
	if err := json.NewEncoder(resp).Encode(answer); err != nil {
		m.w.Logf("answer query: %v", err)
	}
}

// failing has the server answer in another way from now on; nil ends it.
func (m *metricServer) failing(how http.HandlerFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = how
}

// compared returns a gate that compares the errors of the versions each second.
func compared(onReject v1alpha1.RejectPolicy) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{OnReject: onReject, Metrics: &v1alpha1.MetricsGate{
		Provider: "prometheus", Interval: &metav1.Duration{Duration: time.Second}, Metrics: []v1alpha1.GateMetric{{Name: "errors"}},
	}}
}

// metricGate waits until the metrics gate of a step is as wanted, and returns it.
func (w *world) metricGate(step int32, what string, is func(*v1alpha1.Gate) bool) *v1alpha1.Gate {
	w.Helper()
	var found *v1alpha1.Gate
	w.await(func(s *scene) error {
		last := "none"
		for _, g := range s.gates {
			if g.Spec.Step == step && g.Spec.Type == v1alpha1.GateMetrics {
				if found = g; is(g) {
					return nil
				}
				last = string(encode(g.Status))
			}
		}
		return fmt.Errorf("want the metrics gate of step %d %s, got %s", step, what, last)
	})
	return found
}

func decidedAs(decision v1alpha1.Decision) func(*v1alpha1.Gate) bool {
	return func(g *v1alpha1.Gate) bool { return g.Status.Decision == decision }
}

// TestMetricsReject: a version with ten times the errors is rolled back by itself.
func TestMetricsReject(t *testing.T) {
	w := newWorld(t)
	w.measured(map[string]float64{"web:1": 0.005, "web:2": 0.05})
	w.startController()
	w.deployed(deployment(8))
	w.create(release("web:2", step("50%", compared(v1alpha1.RejectRollback)), step("100%")))
	g := w.metricGate(0, "rejected", decidedAs(v1alpha1.DecisionRejected))
	t.Logf("rejected: %s", encode(g.Status))
	w.await(all(web.phase(v1alpha1.PhaseCompleted), web.serves("web:1", 8)))
}

// TestMetricsPass: a version that is as good goes on by itself.
func TestMetricsPass(t *testing.T) {
	w := newWorld(t)
	w.measured(map[string]float64{"web:1": 0.01, "web:2": 0.01})
	w.startController()
	w.deployed(deployment(8))
	w.create(release("web:2", step("50%", compared(v1alpha1.RejectRollback)), step("100%")))
	g := w.metricGate(0, "passed", decidedAs(v1alpha1.DecisionPassed))
	t.Logf("passed: %s", encode(g.Status))
	w.await(all(web.completed, web.serves("web:2", 8)))
}
