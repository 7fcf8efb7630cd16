package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// shares is a bench of a release that moves requests with its pods, beside one that moves pods
// alone; and of one whose pods are all there before requests move.
type shares struct {
	fleet
	// more requests than pods alone take, in each step, and how long after a step is written the route
	// is, at most.
	more     int
	handOver time.Duration
}

// moved holds the measurements of one release.
type moved struct {
	requests  map[string]int
	reactions []reaction
	// back is how long after somebody asks for a rollback the route is written.
	back time.Duration
}

// sharing gives each step of a release the same percentage of the requests as of the pods.
func sharing(steps []v1alpha1.Step) []v1alpha1.Step {
	shared := slices.Clone(steps)
	for i := range shared {
		shared[i].Traffic = shared[i].Replicas.String()
	}
	return shared
}

// blueGreen has all pods come in a step without requests, and then requests in so many equal steps,
// each of which somebody confirms.
func blueGreen(times int) []v1alpha1.Step {
	all := make([]v1alpha1.Step, times+1)
	for i := range all {
		all[i] = step("100%")
		all[i].Traffic = fmt.Sprintf("%d%%", i*100/times)
		if i < times {
			all[i].Gates = []v1alpha1.GatePolicy{{Manual: &v1alpha1.ManualGate{}}}
		}
	}
	return all
}

// shared returns the fleet with routes, whose requests the steps share.
func (f fleet) shared(steps []v1alpha1.Step) fleet {
	f.steps, f.routes = steps, true
	return f
}

// kept returns the fleet with all old pods beside the new ones until the end.
func (f fleet) kept() fleet {
	f.keepsOld = true
	return f
}

// run measures the three releases a number of times.
func (s shares) run(ctx context.Context, k *kit, runs int) (report, error) {
	sides := []struct {
		name string
		fleet
		samples []moved
	}{
		{name: "pods alone", fleet: s.fleet},
		{name: "canary", fleet: s.shared(sharing(s.steps))},
		{name: "blue-green", fleet: s.shared(blueGreen(len(s.steps))).kept()},
	}
	for run := range runs {
		for i := range sides {
			side := &sides[(run+i)%len(sides)]
			err := k.inLab(ctx, func(ctx context.Context, l *lab) error {
				m, err := side.measureMoves(ctx, l)
				side.samples = append(side.samples, m)
				return err
			})
			if err != nil {
				return report{}, fmt.Errorf("measure %s: %w", side.name, err)
			}
			k.say("  run %d of %d, %s: %d requests", run+1, runs, side.name, total(side.samples[run].requests))
		}
	}
	return s.report(sides[0].samples, sides[1].samples, sides[2].samples), nil
}

// measureMoves releases the fleet and reads what that took.
func (f fleet) measureMoves(ctx context.Context, l *lab) (m moved, err error) {
	if err := l.serveRoutes(ctx); err != nil {
		return m, err
	}
	log, err := l.watch(ctx, everything()...)
	if err != nil {
		return m, err
	}
	c := comparison{fleet: f}
	if err := errors.Join(c.deploy(ctx, l, log), f.createRoutes(ctx, l.client)); err != nil {
		return m, err
	}
	controller, err := l.startController(ctx, "--traffic")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, controller.stop()) }()
	if err := c.adoptAll(ctx, l, log); err != nil {
		return m, err
	}
	start := time.Now()
	if err := f.updateReleases(ctx, l.client, 2); err != nil {
		return m, fmt.Errorf("update: %w", err)
	}
	w := &watcher{client: l.client, log: log}
	if err := w.confirmUntil(ctx, 2); err != nil {
		return m, err
	}
	if err := pass(ctx, settle); err != nil {
		return m, err
	}
	requests, err := l.requests(start)
	if err != nil {
		return m, err
	}
	m.requests = byVerb(requests, fromSluice)
	m.reactions = reactions(requests)
	if len(m.reactions) != len(w.waits) {
		return m, fmt.Errorf("find writes of routes after a gate in the audit log: got %d, want %d", len(m.reactions), len(w.waits))
	}
	if f.keepsOld {
		m.back, err = f.measureBack(ctx, l, w)
	}
	return m, err
}

// measureBack releases the next version until it gets requests, and rolls back.
func (f fleet) measureBack(ctx context.Context, l *lab, w *watcher) (time.Duration, error) {
	const attempt = 3
	if err := f.updateReleases(ctx, l.client, attempt); err != nil {
		return 0, fmt.Errorf("update: %w", err)
	}
	for index := range int32(2) {
		if _, err := w.log.await(ctx, f.deployments, blocksAt(attempt, index)); err != nil {
			return 0, err
		}
		if w.release = f.names()[0]; index == 0 {
			if err := w.confirm(ctx); err != nil {
				return 0, err
			}
		}
	}
	start := time.Now()
	if err := annotateRollback(ctx, l.client, w.release); err != nil {
		return 0, fmt.Errorf("ask for a rollback: %w", err)
	}
	if _, err := w.log.await(ctx, f.deployments, released(attempt+1)); err != nil { // a rollback is an attempt of its own
		return 0, err
	}
	if err := pass(ctx, settle); err != nil {
		return 0, err
	}
	requests, err := l.requests(start)
	if err != nil {
		return 0, err
	}
	return toRoute(requests)
}

func blocksAt(attempt int64, index int32) func(client.Object) bool {
	return func(object client.Object) bool {
		r, is := object.(*v1alpha1.BatchRelease)
		return is && r.Status.Attempt == attempt && r.Status.CurrentStepIndex == index && r.Status.CurrentStepState == v1alpha1.StepBlocking
	}
}

// toRoute returns the time from the first request, which asks for something, to Sluice's first
// write of a route.
func toRoute(requests []controlplane.Request) (time.Duration, error) {
	var asked, wrote time.Time
	for _, r := range requests {
		switch {
		case r.Resource == "batchreleases" && !fromSluice(r) && changesSomething(r) && asked.IsZero():
			asked = r.Received
		case r.Resource == "httproutes" && fromSluice(r) && changesSomething(r) && (wrote.IsZero() || r.Received.Before(wrote)):
			wrote = r.Received
		}
	}
	if asked.IsZero() || wrote.IsZero() {
		return 0, errors.New("find the rollback and the write of the route in the audit log")
	}
	return wrote.Sub(asked), nil
}

func (l *lab) serveRoutes(ctx context.Context) error {
	cfg, err := l.plane.Config()
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	if err := controlplane.InstallGatewayAPI(ctx, cfg); err != nil {
		return fmt.Errorf("install the Gateway API: %w", err)
	}
	return nil
}

// createRoutes makes a Service and a route for each Deployment, if the fleet has routes.
func (f fleet) createRoutes(ctx context.Context, c client.Client) error {
	if !f.routes {
		return nil
	}
	return f.atOnce(ctx, func(ctx context.Context, name string) error {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
		service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Selector: map[string]string{appLabel: name},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		}}
		route := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rules": []any{
			map[string]any{"backendRefs": []any{map[string]any{"name": name, "port": int64(80)}}},
		}}}}
		route.SetAPIVersion("gateway.networking.k8s.io/v1")
		route.SetKind("HTTPRoute")
		route.SetNamespace(namespace)
		route.SetName(name)
		return errors.Join(c.Create(ctx, service), c.Create(ctx, route))
	})
}

// traffic returns what a release says of its requests. Nothing is waited for but what has to be:
// pods, their endpoints, and the writes.
func (f fleet) traffic(name string) *v1alpha1.Traffic {
	if !f.routes {
		return nil
	}
	return &v1alpha1.Traffic{
		Routes:       []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteHTTP, Name: name, Service: name}},
		ReadySeconds: new(int32(0)), DrainSeconds: new(int32(0)), KeepOldPods: f.keepsOld,
	}
}

// reaction holds the delays of a route's write: after the gate passed, after the step was written,
// and, as our own, after the API server's answer to the write of the step.
type reaction struct{ gate, step, own time.Duration }

// reactions returns the reactions to gates that passed, in their order.
func reactions(requests []controlplane.Request) []reaction {
	writes := slices.DeleteFunc(slices.Clone(requests), func(r controlplane.Request) bool {
		return !fromSluice(r) || !changesSomething(r) || r.Code >= http.StatusMultipleChoices
	})
	slices.SortStableFunc(writes, func(a, b controlplane.Request) int { return a.Received.Compare(b.Received) })
	var all []reaction
	var gate, step controlplane.Request
	for _, r := range writes {
		switch {
		case r.Resource == "gates/status":
			gate, step = r, r
		case r.Resource == "batchreleases/status":
			step = r
		case r.Resource == "httproutes" && !gate.Received.IsZero():
			all = append(all, reaction{gate: r.Received.Sub(gate.Received), step: r.Received.Sub(step.Received), own: max(0, r.Received.Sub(step.Answered))})
			gate = controlplane.Request{}
		}
	}
	return all
}

func (s shares) report(pods, canary, blueGreen []moved) report {
	counted := func(m moved) int { return total(m.requests) }
	alone, shared := middle(pods, counted), middle(canary, counted)
	more := float64(counted(shared)-counted(alone)) / float64(len(s.steps))
	var gates, steps, own, backs []time.Duration
	for _, m := range blueGreen {
		backs = append(backs, m.back)
		for _, r := range m.reactions {
			gates, steps, own = append(gates, r.gate), append(steps, r.step), append(own, r.own)
		}
	}
	slices.Sort(gates)
	slices.Sort(steps)
	slices.Sort(own)
	slices.Sort(backs)
	worst := slices.Max(own)
	return report{rows: []row{
		{label: "API requests, pods alone", sluice: fmt.Sprintf("%d (%s)", counted(alone), verbs(alone.requests))},
		{label: "  with requests that move", sluice: fmt.Sprintf("%d (%s)", counted(shared), verbs(shared.requests))},
		{
			label: "  more, a step", sluice: fmt.Sprintf("%.1f", more),
			wanted: fmt.Sprintf("<= %d", s.more), verdict: atMost(more, float64(s.more)),
		},
		{label: "from a step to the route, median", sluice: seconds(median(steps))},
		{label: "  worst", sluice: seconds(slices.Max(steps))},
		{label: "  of Sluice's own, median", sluice: seconds(median(own))},
		{label: "    worst", sluice: seconds(worst), wanted: "<= " + seconds(s.handOver), verdict: atMost(worst, s.handOver)},
		{label: "  from the gate before, median", sluice: seconds(median(gates))},
		{label: "from the wish to roll back to the route", sluice: seconds(median(backs)), wanted: "< 1.0 s", verdict: atMost(median(backs), time.Second)},
	}}
}
