package journeys

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
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
	// pods are the pods of the namespace as they were listed last.
	pods   corev1.PodList
	listed time.Time
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
			Prometheus: &v1alpha1.MetricServer{
				Address: m.URL, SecretRef: &v1alpha1.LocalReference{Name: "prometheus"}, Timeout: &metav1.Duration{Duration: time.Second},
			},
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
		m.answer(resp, name, truth)
	}
}

// counted returns the value that a server gives for the counter of a pod; false for none.
type counted func(pod *corev1.Pod, value float64) (float64, bool)

func truth(_ *corev1.Pod, value float64) (float64, bool) { return value, true }

// answer writes the counters of all pods, with warnings if there are any.
func (m *metricServer) answer(resp http.ResponseWriter, name string, says counted, warnings ...string) {
	now := time.Now()
	result := []any{}
	pods, err := m.scraped(now)
	if err != nil {
		resp.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	for i := range pods {
		pod := &pods[i]
		value := now.Sub(pod.CreationTimestamp.Time).Seconds() * perSecond
		if name == "errors" {
			value = m.errorsOf(pod.Spec.Containers[0].Image, pod.CreationTimestamp.Time, now)
		}
		if said, has := says(pod, value); has {
			result = append(result, map[string]any{
				"metric": map[string]string{"pod": pod.Name},
				"value":  []any{float64(now.UnixMilli()) / 1000, strconv.FormatFloat(said, 'f', -1, 64)},
			})
		}
	}
	resp.Header().Set("Content-Type", "application/json")
	answer := map[string]any{"status": "success", "warnings": warnings, "data": map[string]any{"resultType": "vector", "result": result}}
	if err := json.NewEncoder(resp).Encode(answer); err != nil {
		m.w.Logf("answer query: %v", err)
	}
}

// scraped returns the pods as of the last second.
func (m *metricServer) scraped(now time.Time) ([]corev1.Pod, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.listed) < time.Second {
		return m.pods.Items, nil
	}
	m.listed, m.pods = now, corev1.PodList{}
	err := m.w.List(m.w.Context(), &m.pods, client.InNamespace(m.w.namespace))
	return m.pods.Items, err
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

// TestMetricsWithoutData: while its server of metrics answers late, wrong or not at all, a bad
// version neither passes nor is rejected, and the gate names the trouble. Once the server answers
// as before, the version is rejected.
func TestMetricsWithoutData(t *testing.T) {
	lies := func(says counted, warnings ...string) func(*metricServer) http.HandlerFunc {
		return func(m *metricServer) http.HandlerFunc {
			return func(resp http.ResponseWriter, req *http.Request) {
				name, _, _ := strings.Cut(req.FormValue("query"), "{")
				m.answer(resp, name, says, warnings...)
			}
		}
	}
	answers := func(code int, body string) func(*metricServer) http.HandlerFunc {
		return func(*metricServer) http.HandlerFunc {
			return func(resp http.ResponseWriter, _ *http.Request) { http.Error(resp, body, code) }
		}
	}
	without := func(image string) counted {
		return func(pod *corev1.Pod, value float64) (float64, bool) {
			return value, pod.Spec.Containers[0].Image != image
		}
	}
	w := newWorld(t)
	m := w.measured(map[string]float64{"web:1": 0.005, "web:2": 0.05})
	w.startController()
	w.deployed(deployment(8))
	w.create(release("web:2", step("25%", compared(v1alpha1.RejectRollback)), step("100%")))
	m.measurements(1)
	for _, c := range []struct {
		name  string
		fault func(*metricServer) http.HandlerFunc
		want  v1alpha1.MetricTrouble
	}{
		{"answers too late", func(*metricServer) http.HandlerFunc { return late }, v1alpha1.TroubleUnreachable},
		{"connections that break", func(*metricServer) http.HandlerFunc { return cutOff }, v1alpha1.TroubleUnreachable},
		{"an error of the server", answers(http.StatusServiceUnavailable, "starting"), v1alpha1.TroubleUnreachable},
		{"credentials that are refused", answers(http.StatusForbidden, "no"), v1alpha1.TroubleUnauthorised},
		{"a page", answers(http.StatusOK, "<html>Log in</html>"), v1alpha1.TroubleBadAnswer},
		{"an empty answer", lies(func(*corev1.Pod, float64) (float64, bool) { return 0, false }), v1alpha1.TroubleNoData},
		{"nothing of the old version", lies(without("web:1")), v1alpha1.TroubleNoData},
		{"nothing of the new version", lies(without("web:2")), v1alpha1.TroubleNoData},
		{"a partial answer", lies(truth, "one store did not answer"), v1alpha1.TroubleBadAnswer},
		{"no numbers", lies(func(*corev1.Pod, float64) (float64, bool) { return math.NaN(), true }), v1alpha1.TroubleBadAnswer},
		{"counters that fall", lies(falling()), v1alpha1.TroubleBadAnswer},
	} {
		t.Log(c.name)
		m.failing(c.fault(m))
		m.measurements(2) // one of them begins after the fault has
		m.inTrouble(c.want)
	}
	m.failing(nil)
	g := w.metricGate(0, "rejected", decidedAs(v1alpha1.DecisionRejected))
	t.Logf("rejected: %s", g.Status.Message)
}

// late answers after the client has given up.
func late(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }

// cutOff closes the connection without an answer.
func cutOff(resp http.ResponseWriter, _ *http.Request) {
	if connection, _, err := resp.(http.Hijacker).Hijack(); err == nil {
		connection.Close()
	}
}

// falling says of each counter less than before, and less than it was ever counted.
func falling() counted {
	var said atomic.Int64
	return func(*corev1.Pod, float64) (float64, bool) { return 1 / float64(said.Add(1)), true }
}

// measurements waits until so many more measurements have begun.
func (m *metricServer) measurements(more int) {
	m.w.Helper()
	count := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.queries["requests"]
	}
	before := count()
	cptest.Eventually(m.w, soon, func() error {
		if now := count(); now < before+more {
			return fmt.Errorf("want %d measurements, %d have begun", more, now-before)
		}
		return nil
	})
}

// inTrouble waits until the gate of the first step names a trouble, and fails the test if it is
// decided.
func (m *metricServer) inTrouble(want v1alpha1.MetricTrouble) {
	m.w.Helper()
	g := m.w.metricGate(0, "in trouble: "+string(want), func(g *v1alpha1.Gate) bool {
		return gate.Decided(g) || g.Status.Undecided || len(g.Status.Metrics) == 1 && g.Status.Metrics[0].Trouble == want
	})
	if gate.Decided(g) || g.Status.Undecided {
		m.w.Fatalf("want the gate to wait without data, got %s", encode(g.Status))
	}
}
