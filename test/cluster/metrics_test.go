package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/test/node"
	"github.com/sluice-dev/sluice/test/prometheus"
)

const (
	// manyClients send a thousand requests a second. A verdict on versions of which 1 % fails takes
	// some twenty seconds of it.
	manyClients = 20
	// away is the time for which Prometheus stays away: the gate asks it each second.
	away = 3 * time.Second
)

// failTail is the end of the manifest of a service of which a share of the requests fails.
const failTail = `        - name: FAIL
          value: "%s"
`

// workTail is the end of the manifest of a service whose answers take so long.
const workTail = `        - name: WORK
          value: %s
`

// latencySteps gives the new version one of ten requests, until metrics decide.
const latencySteps = `
    steps:
    - {replicas: 50%, traffic: 10%, gates: [{metrics: {provider: prometheus, interval: 1s, metrics: [{name: latency}]}, onReject: Rollback}]}
    - {replicas: 100%}
    traffic: {routes: [{kind: HTTPRoute, name: slower, service: slower}], drainSeconds: 1}`

// measuredSteps are steps by metrics alone: nobody is asked.
const measuredSteps = `{steps: [
    {replicas: 4, gates: [{metrics: {provider: prometheus, interval: 1s, metrics: [{name: errors}]}, onReject: Rollback}]},
    {replicas: 100%}]}`

// provider is a MetricProvider for a Prometheus with a password: %[1]s is the namespace, %[2]s the
// address, %[3]s the user and %[4]s the password.
const provider = `apiVersion: v1
kind: Secret
metadata:
  name: prometheus
  namespace: %[1]s
stringData:
  username: %[3]s
  password: %[4]s
---
apiVersion: rollouts.sluice.dev/v1alpha1
kind: MetricProvider
metadata:
  name: prometheus
  namespace: %[1]s
spec:
  prometheus:
    address: %[2]s
    timeout: 2s
    secretRef:
      name: prometheus
  metrics:
  - name: errors
    compare:
      requests: sum by (pod) (http_requests_total{namespace="$(namespace)"})
      errors: sum by (pod) (http_requests_total{namespace="$(namespace)", code=~"5.."})
      young: 2s
  - name: latency
    compare:
      buckets: sum by (pod, le) (http_request_duration_seconds_bucket{namespace="$(namespace)"})
      young: 2s
`

// measured is a service under load whose requests a Prometheus counts.
type measured struct {
	*service

	metrics *prometheus.Server
	// seen is the gate of the release.
	seen atomic.Pointer[v1alpha1.Gate]
}

// TestMetricsRollBack: a version that fails 5 % of its requests, where the old one fails 0.1 %, is
// rejected by the counts of Prometheus, without a threshold, and rolled back.
func TestMetricsRollBack(t *testing.T) {
	m := startMeasured(t, "worse", "0.001", loadClients)
	m.putFailing("v2", "0.05")
	gate := m.decides(v1alpha1.DecisionRejected)
	m.await("v1 serves again", m.serves("v1"))
	compared := gate.Status.Metrics[0].Compared
	m.wantShare("new", compared.New, 0.04, 0.06)
	m.wantShare("old", compared.Old, 0, 0.003)
}

// TestMetricsGoOn: a version that is as good as the old one goes on to the end, though one of a
// hundred requests fails.
func TestMetricsGoOn(t *testing.T) {
	m := startMeasured(t, "equal", "0.01", manyClients)
	m.putFailing("v2", "0.01")
	m.decides(v1alpha1.DecisionPassed)
	m.await("v2 serves", m.serves("v2"))
}

// TestLatencyBehindGateway: a version whose answers take 120ms instead of 20ms, to one of ten
// requests that a Gateway gives it, is rejected by the histograms of Prometheus, and rolled back.
func TestLatencyBehindGateway(t *testing.T) {
	t.Parallel()
	c, program := openMeasured(t)
	m, r := &measured{}, &routed{}
	r.plane, r.instance = c.openDataPlane("slower-gateway")
	r.service = c.create(workload{
		kind: "Deployment", name: "slower", size: 6, head: deploymentHead, tail: fmt.Sprintf(workTail, "20ms"), strategy: latencySteps,
	})
	m.service = r.service
	r.makeRoute()
	r.load = r.clients(routedSenders, nil)
	m.startPrometheus(program)
	m.followGates()
	m.tail = fmt.Sprintf(workTail, "120ms")
	m.put("v2")
	gate := m.decides(v1alpha1.DecisionRejected)
	m.await("v1 serves again", m.serves("v1"))
	compared := gate.Status.Metrics[0].Compared
	if share := float64(compared.New.Requests) / float64(compared.New.Requests+compared.Old.Requests); share < 0.08 || share > 0.12 {
		t.Errorf("the new version has got %.1f %% of the requests that count, want 10 %%", 100*share)
	}
	if counts := r.load.Counts(); counts.Failed > 0 {
		t.Errorf("%d of %d requests have failed: %v", counts.Failed, counts.Sent, counts.Failures)
	}
}

// TestPrometheusGone: while Prometheus is away, a bad version neither passes nor is rejected, and
// the gate says why. Once it is back, the version is rejected.
func TestPrometheusGone(t *testing.T) {
	m := startMeasured(t, "gone", "0.001", loadClients)
	m.putFailing("v2", "0.05")
	m.await("v2 is measured", func() error {
		gate, err := m.gate()
		if err == nil && gate.Status.Metrics[0].MeasuredAt == nil {
			err = fmt.Errorf("nothing is measured: %s", gate.Status.Message)
		}
		return err
	})
	m.metrics.Kill()
	m.await("the gate says that Prometheus is away", m.isAway)
	left := time.Now()
	m.await("it says so all the time", func() error {
		if err := m.isAway(); err != nil {
			m.Fatal(err)
		}
		if gone := time.Since(left); gone < away {
			return fmt.Errorf("it is away for %v", gone)
		}
		return nil
	})
	if err := m.metrics.Start(m.Context()); err != nil {
		m.Fatal(err)
	}
	m.decides(v1alpha1.DecisionRejected)
	m.await("v1 serves again", m.serves("v1"))
}

// isAway wants the gate of the release to be open for want of Prometheus.
func (m *measured) isAway() error {
	gate, err := m.gate()
	if err != nil {
		return err
	}
	status := &gate.Status
	if status.Decision != v1alpha1.DecisionWaiting || status.Undecided {
		m.Fatalf("want the gate to wait for Prometheus, it has %s: %s", status.Decision, status.Message)
	}
	if trouble := status.Metrics[0].Trouble; trouble != v1alpha1.TroubleUnreachable {
		return fmt.Errorf("want Prometheus to be unreachable, the trouble is %q: %s", trouble, status.Message)
	}
	return nil
}

// startMeasured starts a service of which a share of the requests fails, its load, and its
// Prometheus.
func startMeasured(t *testing.T, name, share string, senders int) *measured {
	t.Helper()
	t.Parallel()
	c, program := openMeasured(t)
	w := workload{kind: "Deployment", name: name, size: 6, head: deploymentHead, tail: fmt.Sprintf(failTail, share), strategy: measuredSteps}
	m := &measured{service: c.create(w)}
	m.startPrometheus(program)
	m.startLoad(senders)
	m.followGates()
	return m
}

// openMeasured opens the cluster, and returns the program of Prometheus. It skips the test if
// Prometheus can't reach pods.
func openMeasured(t *testing.T) (c *cluster, program string) {
	t.Helper()
	c = open(t)
	if program = os.Getenv(node.PrometheusEnv); program == "" {
		c.Skip("needs a Prometheus that reaches pods: make test-node")
	}
	c.prepare()
	return c, program
}

// startPrometheus starts the Prometheus of the service, and says where it is.
func (m *measured) startPrometheus(program string) {
	m.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		m.Fatalf("read kubeconfig: %v", err)
	}
	options := prometheus.Options{Program: program, Config: cfg, Namespace: m.name, App: m.name, Host: m.host, Dir: m.TempDir()}
	if m.metrics, err = prometheus.Start(m.Context(), options); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		if m.Failed() {
			m.Logf("Prometheus: %s", m.metrics.Explain(context.WithoutCancel(m.Context())))
		}
		m.metrics.Stop()
	})
	m.apply(fmt.Sprintf(provider, m.name, m.metrics.URL, prometheus.Username, prometheus.Password))
}

// putFailing commits a version of which a share of the requests fails.
func (m *measured) putFailing(version, share string) {
	m.Helper()
	m.tail = fmt.Sprintf(failTail, share)
	m.put(version)
}

// followGates keeps the gate of the release as it was last seen: a gate that is rejected is soon
// deleted.
func (m *measured) followGates() {
	m.Helper()
	events, err := m.Watch(context.WithoutCancel(m.Context()), &v1alpha1.GateList{}, client.InNamespace(m.name))
	if err != nil {
		m.Fatalf("watch gates: %v", err)
	}
	m.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if g, is := event.Object.(*v1alpha1.Gate); is && len(g.Status.Metrics) > 0 {
				m.seen.Store(g)
			}
		}
	}()
}

// gate returns the gate of the release as it was last seen, once it has read the metrics.
func (m *measured) gate() (*v1alpha1.Gate, error) {
	if g := m.seen.Load(); g != nil {
		return g, nil
	}
	return nil, errors.New("there is no gate that measures: " + m.standing())
}

// decides waits until the gate of the release is decided as wanted, and returns it.
func (m *measured) decides(want v1alpha1.Decision) (gate *v1alpha1.Gate) {
	m.Helper()
	m.await("the gate has "+string(want), func() (err error) {
		if gate, err = m.gate(); err != nil {
			return err
		}
		status := &gate.Status
		switch {
		case status.Decision == want:
			return nil
		case status.Decision != v1alpha1.DecisionWaiting, status.Undecided:
			m.Fatalf("want it %s, it has %s: %s", want, status.Decision, status.Message)
		}
		return fmt.Errorf("it waits: %s", status.Message)
	})
	m.Log(gate.Status.Message)
	return gate
}

// wantShare wants a version to have a share of errors within bounds.
func (m *measured) wantShare(what string, got v1alpha1.ComparedVersion, low, high float64) {
	m.Helper()
	if share := float64(got.Errors) / float64(got.Requests); !(share >= low && share <= high) {
		m.Errorf("%d of %d requests to the %s version have failed, want a share of %v to %v", got.Errors, got.Requests, what, low, high)
	}
}
