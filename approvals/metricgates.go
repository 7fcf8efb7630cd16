package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/internal/podwatch"
)

// MetricGates measures the metrics of Gates, and decides the Gates by them. A measurement runs
// beside the workers, so that a server that hangs delays its own gates alone.
type MetricGates struct {
	gates   store[*v1alpha1.Gate]
	servers *metricServers
	pods    *podwatch.Watches
	// measured passes on gates with new readings, or new pods.
	measured chan event.GenericEvent
	// running returns a context that ends with the process, which calls end.
	running func() context.Context
	end     context.CancelFunc

	mu   sync.Mutex
	open map[types.NamespacedName]*openGate
}

// maxReadings is the number of readings of each metric that wait to be recorded. While the API
// server takes no writes, the oldest are dropped: judges take any gap. It is more than the records
// of a minute, at any interval.
const maxReadings = 240

// openGate is a gate that is measured. Its counters end with the process: the next process begins
// with the counters that it reads first.
type openGate struct {
	uid types.UID
	// watches belong to the measurement that runs; at most one does.
	watches map[string]*metricWatch

	// blind is set while the pods of the gate are not known yet.
	blind atomic.Bool

	mu       sync.Mutex
	running  bool
	readings []gate.MetricReading
	next     time.Time
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=metricproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch

// Reconcile starts the measurement of a gate, and decides the gate by those that have ended.
func (r *MetricGates) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g, found, err := r.gates.read(ctx, req.NamespacedName, &v1alpha1.Gate{})
	if err != nil {
		return reconcile.Result{}, err
	}
	if !found || g.DeletionTimestamp != nil || gate.Decided(g) {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	p := &metricPass{MetricGates: r, gate: newJudging(r.gates, g), open: r.of(g)}
	next := func(facts lifecycle.GateFacts) []lifecycle.GateIntent {
		return lifecycle.NextOfMetrics(p.gate.object, facts, r.gates.clock.Now())
	}
	facts, _, err := run(ctx, p.gather, next, func(ctx context.Context, _ lifecycle.GateFacts, intent lifecycle.GateIntent) (bool, error) {
		if record, is := intent.(lifecycle.RecordGate); is {
			return p.gate.recordDecision(ctx, record.Status)
		}
		return false, nil
	})
	if err != nil || facts.Decision == nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.gates.until(facts.Decision.WakeUp)}, nil
}

// metricPass is one pass over a metrics gate.
type metricPass struct {
	*MetricGates
	gate *judging
	open *openGate
}

// gather reads the release and the provider, starts a measurement that is due, and decides by the
// readings so far.
func (p *metricPass) gather(ctx context.Context) (lifecycle.GateFacts, error) {
	g := p.gate.object
	var facts lifecycle.GateFacts
	var err error
	if facts.Facts, err = p.gate.factsOf(ctx); err != nil || g.Spec.Policy.Metrics == nil {
		return facts, err
	}
	if !gate.Awaited(g, facts.Release) {
		p.forget(client.ObjectKeyFromObject(g))
		return facts, nil
	}
	if facts.Metrics, err = p.measure(ctx, facts.Release); err != nil {
		return facts, err
	}
	return p.gate.decide(ctx, facts)
}

// measure starts a measurement that is due, and returns the facts so far.
func (p *metricPass) measure(ctx context.Context, release *v1alpha1.BatchRelease) (*gate.MetricFacts, error) {
	g := p.gate.object
	policy := g.Spec.Policy.Metrics
	provider := &v1alpha1.MetricProvider{}
	key := client.ObjectKey{Namespace: g.Namespace, Name: policy.Provider}
	if err := p.gates.client.Get(ctx, key, provider); err != nil {
		if apierrors.IsNotFound(err) {
			return &gate.MetricFacts{Problem: fmt.Sprintf("there is no MetricProvider %s in namespace %s: create it, or correct the gate's provider", key.Name, key.Namespace)}, nil
		}
		return nil, fmt.Errorf("read MetricProvider: %w", err)
	}
	path := field.NewPath("spec", "policy", "metrics")
	checks, err := gate.MetricChecks(policy, provider, gate.VariablesOf(g, release), path)
	if err != nil {
		return &gate.MetricFacts{Problem: "can't measure until this is corrected: " + err.Error()}, nil //nolint:nilerr // the gate says it
	}
	if gate.Measures(g, release) {
		p.start(&measurement{
			gate: g.DeepCopy(), workload: release.Spec.WorkloadRef, stable: release.Status.StableRevision,
			provider: provider.DeepCopy(), checks: checks,
		})
	}
	return &gate.MetricFacts{Checks: checks, Readings: p.open.since(g)}, nil
}

// start starts a measurement, if it is due and none runs.
func (p *metricPass) start(m *measurement) {
	o, now := p.open, p.gates.clock.Now()
	if p.unseen(m) {
		return // the watch of the pods starts it
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.running || now.Before(o.next) || now.Before(gate.FirstMeasurement(m.gate)) {
		return
	}
	o.running, o.next = true, gate.NextMeasurement(m.gate, now)
	go func() {
		readings := p.take(p.running(), o, m)
		o.end(readings, len(m.checks))
		p.wake(p.running(), client.ObjectKeyFromObject(m.gate))
	}()
}

// unseen reports whether a measurement needs pods that their watch has not seen yet.
func (p *metricPass) unseen(m *measurement) bool {
	if !slices.ContainsFunc(m.checks, func(c gate.MetricCheck) bool { return c.Compare != nil }) {
		return false
	}
	p.open.blind.Store(true)
	_, err := p.podsOf(m)
	unseen := errors.Is(err, errPodsUnseen)
	p.open.blind.Store(unseen)
	return unseen
}

// podsSeen queues a gate once its pods are known.
func (r *MetricGates) podsSeen(ctx context.Context, key types.NamespacedName) {
	r.mu.Lock()
	o := r.open[key]
	r.mu.Unlock()
	if o != nil && o.blind.Load() {
		r.wake(ctx, key)
	}
}

// end ends a measurement of so many metrics, and keeps its readings.
func (o *openGate) end(readings []gate.MetricReading, metrics int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.readings = append(o.readings, readings...)
	o.readings = slices.Clone(o.readings[max(0, len(o.readings)-maxReadings*metrics):])
	o.running = false
}

// since returns the readings that are no part of a gate's status yet, and drops the others.
func (o *openGate) since(g *v1alpha1.Gate) []gate.MetricReading {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.readings = gate.Unrecorded(g, o.readings)
	return append([]gate.MetricReading(nil), o.readings...)
}

// of returns the state of an open gate.
func (r *MetricGates) of(g *v1alpha1.Gate) *openGate {
	key := client.ObjectKeyFromObject(g)
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.open[key]; o == nil || o.uid != g.UID {
		r.open[key] = &openGate{uid: g.UID, watches: map[string]*metricWatch{}}
	}
	return r.open[key]
}

// forget drops the state of a gate.
func (r *MetricGates) forget(key types.NamespacedName) {
	r.mu.Lock()
	delete(r.open, key)
	r.mu.Unlock()
	r.pods.Forget(key)
}

// wake queues a gate. The event is dropped once the process stops.
func (r *MetricGates) wake(ctx context.Context, key types.NamespacedName) {
	g := &v1alpha1.Gate{}
	g.Namespace, g.Name = key.Namespace, key.Name
	select {
	case r.measured <- event.GenericEvent{Object: g}:
	case <-ctx.Done():
	}
}

// gatesOfProvider returns the gates in the namespace of a provider.
func (r *MetricGates) gatesOfProvider(_ context.Context, provider client.Object) []reconcile.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var requests []reconcile.Request
	for key := range r.open {
		if key.Namespace == provider.GetNamespace() {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

// Start blocks until the context ends, and then ends all measurements.
func (r *MetricGates) Start(ctx context.Context) error {
	defer r.end()
	return r.pods.Start(ctx)
}

// newMetricGates returns a MetricGates that has measured nothing.
func newMetricGates(gates store[*v1alpha1.Gate], servers *metricServers, watching client.WithWatch) *MetricGates {
	r := &MetricGates{
		gates: gates, servers: servers, measured: make(chan event.GenericEvent),
		open: map[types.NamespacedName]*openGate{},
	}
	ctx, end := context.WithCancel(context.Background())
	r.running, r.end = func() context.Context { return ctx }, end
	r.pods = podwatch.New(watching, podToMeasure, r.podsSeen)
	return r
}
