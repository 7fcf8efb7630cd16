package handback_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// hooked is a client that is interfered with: each hook, if there is one, is asked before the API server, and its error is the answer.
type hooked struct {
	client.Client
	get, list, write func(kind, name string) error
	// written is told after each write, and its error is the answer though the write was done.
	written func() error
}

func (c hooked) ask(hook func(kind, name string) error, object runtime.Object, name string) error {
	if hook == nil {
		return nil
	}
	kinds, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	return hook(kinds.Kind, name)
}

func (c hooked) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := c.ask(c.get, object, key.Name); err != nil {
		return err
	}
	return c.Client.Get(ctx, key, object, options...)
}

func (c hooked) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := c.ask(c.list, list, ""); err != nil {
		return err
	}
	return c.Client.List(ctx, list, options...)
}

func (c hooked) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.around(object, func() error { return c.Client.Patch(ctx, object, patch, options...) })
}

func (c hooked) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return c.around(object, func() error { return c.Client.Delete(ctx, object, options...) })
}

func (c hooked) around(object client.Object, do func() error) error {
	if err := c.ask(c.write, object, object.GetName()); err != nil {
		return err
	}
	if err := do(); err != nil || c.written == nil {
		return err
	}
	return c.written()
}

// forbids is a hook that forbids objects of a kind.
func forbids(kind string) func(kind, name string) error {
	return func(asked, _ string) error {
		if strings.TrimSuffix(asked, "List") != kind {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", errors.New("no such right"))
	}
}

// holdAnother creates a Deployment "other" that is held by a release of the name without traffic.
func (r *routed) holdAnother() {
	r.Helper()
	release := r.release.DeepCopy()
	release.ObjectMeta = metav1.ObjectMeta{Namespace: r.namespace, Name: "other"}
	release.Spec.WorkloadRef.Name = "other"
	release.Spec.Strategy = v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: r.release.Spec.Strategy.Steps[1].Replicas}}}
	r.create(release)
	r.create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "other", Annotations: map[string]string{
			v1alpha1.HoldAnnotation: `{"release":"other","uid":"` + string(release.UID) + `","stable":"gone"}`,
		}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Paused: true, Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "other"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "other:2"}}},
			},
		},
	})
}

// TestOneFailureKeepsNoOther: a workload whose routes can't be read stays held, and each other is handed back. The error says which, and why.
func TestOneFailureKeepsNoOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hook func(*hooked)
		why  string
	}{
		"RoutesCanNotBeListed": {func(c *hooked) { c.list = forbids("HTTPRoute") }, "list HTTPRoutes"},
		"RouteCanNotBeRead":    {func(c *hooked) { c.get = forbids("HTTPRoute") }, "read route"},
		"RouteCanNotBeWritten": {func(c *hooked) { c.write = forbids("HTTPRoute") }, "patch route"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouted(t)
			r.holdAnother()
			hook := hooked{Client: r.client}
			c.hook(&hook)
			real := r.client
			r.client = hook
			said, err := r.run(handback.Options{RemoveFinalizers: true})
			if err == nil || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), "Deployment "+r.namespace+"/web: not handed back") {
				t.Errorf("want to be told which is held and why, got %v", err)
			}
			if !strings.Contains(strings.Join(said, "\n"), "Deployment other: handed back") || strings.Contains(err.Error(), "/other") {
				t.Errorf("want the other one to be handed back, got %q, %v", said, err)
			}
			r.client = real
			r.wantHeld(true)
			r.wantFinalizers(v1alpha1.Finalizer)
			r.must(handback.Options{})
			r.wantHeld(false)
			r.wantRestored()
		})
	}
}

// TestWorkloadThatCanNotBeRead keeps no other one from being handed back, and is waited for like those of its namespace: it may be read again then.
func TestWorkloadThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	r.holdAnother()
	r.client = hooked{Client: r.client, get: func(kind, name string) error {
		if kind == "Deployment" && name == "other" {
			return apierrors.NewInternalError(errors.New("no"))
		}
		return nil
	}}
	if said, err := r.run(handback.Options{}); err == nil || !strings.Contains(err.Error(), "/other: read Deployment") || strings.Contains(err.Error(), "/web") {
		t.Errorf("want to be told of the one that can't be read, and of no other, got %q, %v", said, err)
	}
	r.wantHeld(false)
	r.wantRestored()
}

// writes are those of a run of the command with the routes of a routed release: two routes, the second Ingress, the Deployment, the finalizer.
const writes = 5

// TestInterrupted: wherever a run ends, before a write or once it is done, the next one completes it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for n := range 2 * writes {
		t.Run(fmt.Sprint("Write", n/2+1, map[int]string{0: "Before", 1: "After"}[n%2]), func(t *testing.T) {
			t.Parallel()
			r := newRouted(t)
			ctx, cancel := context.WithCancel(t.Context())
			count := 0
			interrupt := func() error {
				count++
				if count != n+1 {
					return nil
				}
				cancel()
				return ctx.Err()
			}
			c := hooked{Client: r.client, write: func(string, string) error { return interrupt() }, written: interrupt}
			options := handback.Options{Namespace: r.namespace, RemoveFinalizers: true}
			if err := handback.New(c, r.clock, options, func(string) {}).Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("want the run to be interrupted, got %v", err)
			}
			if count != n+1 {
				t.Errorf("want nothing to be written after the interruption, got %d calls of %d", count, n+1)
			}
			r.must(handback.Options{RemoveFinalizers: true})
			r.wantHeld(false)
			r.wantFinalizers()
			r.wantRestored()
		})
	}
}

// TestTwoAtOnce: a run during which another one does all of it completes.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	for n := range writes {
		t.Run(fmt.Sprint("BeforeWrite", n+1), func(t *testing.T) {
			t.Parallel()
			r := newRouted(t)
			options, count := handback.Options{Namespace: r.namespace, RemoveFinalizers: true}, 0
			c := hooked{Client: r.client, write: func(string, string) error {
				count++
				if count == n+1 {
					return handback.New(r.client, r.clock, options, func(string) {}).Run(t.Context())
				}
				return nil
			}}
			if err := handback.New(c, r.clock, options, func(string) {}).Run(t.Context()); err != nil {
				t.Errorf("hand back while another one does: %v", err)
			}
			r.wantHeld(false)
			r.wantFinalizers()
			r.wantRestored()
		})
	}
}

// TestForgedHold: whoever may write a route of the workload's namespace can say that the release holds it. That is undone, and keeps nothing held.
func TestForgedHold(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	claim := claimed()
	claim.Namespace = r.namespace
	claim.Annotations[v1alpha1.TrafficAnnotation] = `{"web":{"release":"` + r.use().Holder.Release + `","uid":"` + string(r.release.UID) + `"}}`
	r.create(claim)
	r.must(handback.Options{})
	r.wantHeld(false)
	r.wantRestored()
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil || claim.Annotations[v1alpha1.TrafficAnnotation] != "" {
		t.Errorf("want nothing to be said any more, got %v, %v", claim.Annotations, err)
	}
}

// TestKindNotServed: what the cluster does not serve any more can send no requests, and keeps nothing held.
func TestKindNotServed(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	gone := func(kind, _ string) error {
		if strings.TrimSuffix(kind, "List") != "HTTPRoute" {
			return nil
		}
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"}}
	}
	r.client = hooked{Client: r.client, get: gone, list: gone}
	wantLines(t, []string{"Ingress web: restored", "Deployment web: handed back"}, r.must(handback.Options{}))
	r.wantHeld(false)
}

// TestSecondIngressChanges: one that somebody changes before it is deleted is deleted nevertheless, as it takes its share of the requests.
func TestSecondIngressChanges(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	real, changed := r.client, false
	r.client = hooked{Client: real, write: func(kind, name string) error {
		if kind != "Ingress" || name != route.CanaryIngressName("web") || changed {
			return nil
		}
		changed = true
		canary := &unstructured.Unstructured{}
		canary.SetGroupVersionKind(route.GroupVersionKind(v1alpha1.RouteIngress))
		canary.SetNamespace(r.namespace)
		canary.SetName(name)
		return real.Patch(t.Context(), canary, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"changed":"meanwhile"}}}`)))
	}}
	r.must(handback.Options{})
	if !changed {
		t.Error("want the second Ingress to be changed meanwhile")
	}
	r.wantHeld(false)
	r.wantRestored()
}

// TestSharedAgain: where another program shares requests again while the command waits, the workload stays held, and people are told.
func TestSharedAgain(t *testing.T) {
	t.Parallel()
	w := startWaiting(t)
	w.after(0)
	w.share(v1alpha1.RouteHTTP, w.get(v1alpha1.RouteHTTP))
	w.tell(w.get(v1alpha1.RouteHTTP))
	w.after(time.Second)
	err := w.outcome()
	if err == nil || !strings.Contains(err.Error(), "/web: it shares requests again") || !strings.Contains(err.Error(), "/web: not handed back") {
		t.Errorf("want to be told that somebody shares requests again, got %v", err)
	}
	w.wantHeld(true)
}

// TestInterruptedWait: the next run waits for what the one that was interrupted has not seen.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	w := startWaiting(t)
	w.after(0)
	w.interrupt(nil)
	if err := w.outcome(); !errors.Is(err, context.Canceled) {
		t.Errorf("want the run to be interrupted, got %v", err)
	}
	w.said, w.clock = make(chan string, 100), clocktesting.NewFakeClock(time.Now()) // the first one still has who waited
	w.start()
	w.after(0)
	w.tell(w.get(v1alpha1.RouteHTTP))
	w.drain()
	wantLines(t, []string{
		"waiting for at most 5m0s (--wait=false does not): HTTPRoute web: Gateway public",
		"waiting 15s for requests on their way", "waiting 5s for requests on their way", "Deployment web: handed back",
	}, w.end())
}

// TestGatewayThatRefuses: one that has read the route sends no requests by that of before, whatever it makes of it, and is not waited for.
func TestGatewayThatRefuses(t *testing.T) {
	t.Parallel()
	w := startWaiting(t)
	w.after(0)
	object := w.get(v1alpha1.RouteHTTP)
	w.tellThat(object, "False")
	w.drain()
	w.end()
}
