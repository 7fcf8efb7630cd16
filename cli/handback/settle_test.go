package handback_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

const soon = time.Minute

// unannotate takes the annotation off a route, as somebody does who applies all of it but the rules.
func (r *routed) unannotate(kind v1alpha1.TrafficRouteKind) *unstructured.Unstructured {
	r.Helper()
	object := r.get(kind)
	annotations := object.GetAnnotations()
	delete(annotations, v1alpha1.TrafficAnnotation)
	object.SetAnnotations(annotations)
	r.update(object)
	return object
}

func (r *routed) update(object *unstructured.Unstructured) {
	r.Helper()
	if err := r.client.Update(r.Context(), object); err != nil {
		r.Fatalf("update %s: %v", object.GetKind(), err)
	}
}

// TestAnnotationTakenAway: routes that a release names, and that still refer to its Services, are restored though nothing says that it holds them.
func TestAnnotationTakenAway(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	r.unannotate(v1alpha1.RouteHTTP)
	r.unannotate(v1alpha1.RouteIngress)
	want := []string{"HTTPRoute web: would be restored", "Ingress web: would be restored", "would wait", "Deployment web: would be handed back"}
	wantLines(t, want, r.must(handback.Options{DryRun: true}))
	r.wantHeld(true)
	wantLines(t, []string{"HTTPRoute web: restored", "Ingress web: restored", "Deployment web: handed back"}, r.must(handback.Options{}))
	r.wantHeld(false)
	r.wantRestored()
}

// TestAnnotationAndReferenceTakenAway: the second Ingress takes its share of the requests while it is there, whatever the first refers to.
func TestAnnotationAndReferenceTakenAway(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	object := r.get(v1alpha1.RouteIngress)
	object.SetAnnotations(r.before[v1alpha1.RouteIngress].GetAnnotations())
	object.Object["spec"] = r.before[v1alpha1.RouteIngress].Object["spec"]
	r.update(object)
	r.must(handback.Options{})
	r.wantHeld(false)
	r.wantRestored()
}

// TestAstrayForGood: where nobody can tell what a route was, or whose the Services are, the workload stays held, and people are told what to do.
func TestAstrayForGood(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*routed){
		"a rule that sharing does not write": func(r *routed) {
			object := r.unannotate(v1alpha1.RouteHTTP)
			rules, _, _ := unstructured.NestedSlice(object.Object, "spec", "rules")
			rules[0].(map[string]any)["backendRefs"].([]any)[0].(map[string]any)["weight"] = int64(7)
			if err := unstructured.SetNestedSlice(object.Object, rules, "spec", "rules"); err != nil {
				r.Fatal(err)
			}
			r.update(object)
		},
		"a Service of somebody else": func(r *routed) {
			r.unannotate(v1alpha1.RouteHTTP)
			r.create(&corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web-canary"},
				Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "other"}, Ports: []corev1.ServicePort{{Port: 80}}},
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouted(t)
			spoil(r)
			before := r.get(v1alpha1.RouteHTTP).GetResourceVersion()
			said, err := r.run(handback.Options{RemoveFinalizers: true})
			if err == nil || !strings.Contains(err.Error(), "make it refer to Service web") || !strings.Contains(err.Error(), "not handed back: a route of its release") {
				t.Errorf("want to be told what to do, got %q, %v", said, err)
			}
			r.wantHeld(true)
			r.wantFinalizers(v1alpha1.Finalizer)
			if r.get(v1alpha1.RouteHTTP).GetResourceVersion() != before {
				t.Error("want the route left alone")
			}
		})
	}
}

// hold has the release hold the Deployment again.
func (r *routed) hold() {
	r.Helper()
	var d appsv1.Deployment
	if err := r.client.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: "web"}, &d); err != nil {
		r.Fatalf("read Deployment: %v", err)
	}
	before := d.DeepCopy()
	d.Annotations = map[string]string{v1alpha1.HoldAnnotation: `{"release":"shop","uid":"` + string(r.release.UID) + `","stable":"gone"}`}
	if err := r.client.Patch(r.Context(), &d, client.MergeFrom(before)); err != nil {
		r.Fatalf("hold Deployment: %v", err)
	}
}

// waiting is a run of the command that waits, with what it has said.
type waiting struct {
	*routed
	clock *clocktesting.FakeClock
	said  chan string
	done  chan error
	// interrupt ends it.
	interrupt context.CancelCauseFunc
}

// startWaiting hands back a release whose route has a Gateway, and that drains for 15 seconds.
func startWaiting(t *testing.T) *waiting {
	t.Helper()
	w := &waiting{routed: newRouted(t), clock: clocktesting.NewFakeClock(time.Now()), said: make(chan string, 100), done: make(chan error, 1)}
	w.routed.clock = w.clock
	w.release.Spec.Strategy.Traffic.DrainSeconds = new(int32(15))
	if err := w.client.Update(t.Context(), w.release); err != nil {
		t.Fatalf("update release: %v", err)
	}
	w.tell(w.get(v1alpha1.RouteHTTP))
	w.start()
	return w
}

// start runs the command.
func (w *waiting) start() {
	ctx, interrupt := context.WithCancelCause(w.Context())
	w.interrupt = interrupt
	go func() {
		options := handback.Options{Namespace: w.namespace}
		w.done <- handback.New(w.client, w.clock, options, func(line string) { w.said <- line }).Run(ctx)
	}()
}

// tell has the status of a route tell that its Gateway follows it.
func (w *waiting) tell(object *unstructured.Unstructured) { w.tellThat(object, "True") }

// tellThat has the status of a route tell that its Gateway has read it, and whether it finds its backends.
func (w *waiting) tellThat(object *unstructured.Unstructured, resolved string) {
	w.Helper()
	condition := func(kind, status string) any {
		return map[string]any{
			"type": kind, "status": status, "reason": kind, "message": "", "observedGeneration": object.GetGeneration(), "lastTransitionTime": "2026-01-01T00:00:00Z",
		}
	}
	object.Object["status"] = map[string]any{"parents": []any{map[string]any{
		"controllerName": "example.com/gateway", "parentRef": map[string]any{"name": "public"},
		"conditions": []any{condition("Accepted", "True"), condition("ResolvedRefs", resolved)},
	}}}
	if err := w.client.Status().Update(w.Context(), object); err != nil {
		w.Fatalf("write status: %v", err)
	}
}

// after lets time go by once the command waits for it.
func (w *waiting) after(d time.Duration) {
	w.Helper()
	cptest.Eventually(w.T, soon, func() error {
		if !w.clock.HasWaiters() {
			return errors.New("want the command to wait")
		}
		return nil
	})
	w.wantHeld(true)
	w.clock.Step(d)
}

// outcome is the error with which the command ends.
func (w *waiting) outcome() error {
	w.Helper()
	select {
	case err := <-w.done:
		return err
	case <-time.After(soon):
		w.Fatal("want the command to end, it waits")
		return nil
	}
}

// end is all that was said.
func (w *waiting) end() []string {
	w.Helper()
	if err := w.outcome(); err != nil {
		w.Fatalf("hand back: %v", err)
	}
	close(w.said)
	var all []string
	for line := range w.said {
		all = append(all, strings.ReplaceAll(line, w.namespace+"/", ""))
	}
	w.wantHeld(false)
	return all
}

// drain lets the time pass after which the status of the route is read again, and the 15 seconds for requests on their way.
func (w *waiting) drain() {
	w.Helper()
	w.after(time.Second)
	w.after(10 * time.Second)
	w.after(5 * time.Second)
}

// TestWaitsForTheRoutes: the workload is handed back once the status of its route tells that the route is in effect, and the requests on their way are
// over.
func TestWaitsForTheRoutes(t *testing.T) {
	t.Parallel()
	w := startWaiting(t)
	w.after(0)
	w.tell(w.get(v1alpha1.RouteHTTP))
	w.drain()
	wantLines(t, []string{
		"HTTPRoute web: restored", "Ingress web: restored", "waiting for at most 5m0s (--wait=false does not): HTTPRoute web: Gateway public",
		"waiting 15s for requests on their way", "waiting 5s for requests on their way", "Deployment web: handed back",
	}, w.end())
}

// TestSilentGateway: one that does not tell is not waited for for ever.
func TestSilentGateway(t *testing.T) {
	t.Parallel()
	w := startWaiting(t)
	w.after(5 * time.Minute)
	w.after(10 * time.Second)
	w.after(5 * time.Second)
	if said := w.end(); !slices.ContainsFunc(said, func(line string) bool { return strings.HasPrefix(line, "continuing without Gateways") }) {
		t.Errorf("want to be told that the Gateway is not waited for any more, got %q", said)
	}
}

// TestWaitsAgain: where a run before has restored the routes, and did not come to hand the workload back, requests may still be on their way.
func TestWaitsAgain(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	r.must(handback.Options{})
	r.hold()
	r.release.Status.Traffic = &v1alpha1.TrafficStatus{}
	if err := r.client.Status().Update(r.Context(), r.release); err != nil {
		t.Fatalf("write status: %v", err)
	}
	wantLines(t, []string{"would wait until"}, r.must(handback.Options{DryRun: true}))
	if said := r.must(handback.Options{NoWait: true}); strings.HasPrefix(said[0], "wait") {
		t.Errorf("want no wait, got %q", said)
	}
	r.wantHeld(false)
}
